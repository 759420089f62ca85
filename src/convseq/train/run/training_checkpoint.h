#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "convseq/model/checkpoint.h"

namespace convseq {

// The state from which a run resumes as if it had never stopped. It holds no random state: the
// random numbers of a step depend only on the seed, the step and the rank.
struct TrainingState {
  int64_t step = 0;
  int64_t source_tokens = 0;
  int64_t skipped_steps = 0;
  int64_t skipped_in_a_row = 0;
  double seconds = 0;                     // of training so far
  double flops = 0;                       // likewise
  double loss = 0;                        // of the last step
  std::optional<double> best_validation;  // the best score so far
  int64_t validations_since_best = 0;
  Json cursor;          // position in the data after the last batch; null: at the beginning
  TensorMap weights;    // master weights
  TensorMap optimizer;  // Optimizer::state()
};

// Everything except the tensors.
Json to_json(const TrainingState& state);
TrainingState training_state_from(const JsonObject& json);

// The settings that must be unchanged for a run to resume: {"seed", "1"}, {"learning rate",
// "0.02"}, …. They are compared in order, and the Error names the first that differs.
struct RunIdentityItem {
  std::string name;
  std::string value;
  // The value of checkpoints that lack this item; without it, the item is not compared.
  std::optional<std::string> when_missing = {};
};
using RunIdentity = std::vector<RunIdentityItem>;

// The checkpoints of a run, OUT/checkpoint-00000100 and so on: model folders that also hold
// optimizer.safetensors and trainer_state.json. Each is written atomically; trainer_state.json
// holds the checksums of all files, including its own. OUT/best is the model folder of the best
// validation and also holds checksums.json.
class Checkpoints {
 public:
  Checkpoints(std::filesystem::path folder, int64_t keep, RunIdentity identity = {})
      : folder_(std::move(folder)), keep_(keep), identity_(std::move(identity)) {}

  // Saves a checkpoint, then removes the oldest beyond `keep` and all of later steps, which were
  // damaged when this run resumed.
  void save(const TrainingState& state, const ModelFolder& model) const;

  // The newest valid checkpoint, or nothing if there are no checkpoints. Damaged ones are logged
  // and skipped. Throws an Error if all are damaged, or for a checkpoint of another model or
  // identity.
  std::optional<TrainingState> load_latest(const ModelConfig& expected) const;

  std::filesystem::path path_of(int64_t step) const;
  int64_t count() const { return std::ssize(newest_first()); }
  int64_t newest_step() const;  // of the newest checkpoint, valid or not; 0: none
  void remove_all() const;      // for a run that starts over
  // Throws an Error if `input`, which the run reads, lies in a folder that the run replaces.
  void refuse_input(const std::filesystem::path& input) const;

  std::filesystem::path best() const { return folder_ / "best"; }
  void save_best(const ModelFolder& model) const;
  bool has_best() const;  // throws an Error if it is damaged

 private:
  std::vector<std::filesystem::path> newest_first() const;
  void check_identity(const Json& found, const std::filesystem::path& path) const;
  std::optional<TrainingState> load(const std::filesystem::path& path,
                                    const ModelConfig& expected) const;

  std::filesystem::path folder_;
  int64_t keep_;
  RunIdentity identity_;
};

}  // namespace convseq
