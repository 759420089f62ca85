#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "convseq/model/checkpoint.h"

namespace convseq {

// The state from which a run resumes as if it had never stopped. It holds no random state: random
// numbers of a step depend only on the run's seed and the step's number.
struct TrainingState {
  int64_t step = 0;
  int64_t source_tokens = 0;
  int64_t skipped_steps = 0;
  int64_t skipped_in_a_row = 0;
  double seconds = 0;                     // of training so far
  double loss = 0;                        // of the last step
  std::optional<double> best_validation;  // the best so far; the count of later ones follows
  int64_t validations_since_best = 0;
  Json cursor;          // of the data, after the last batch; null: at the beginning
  TensorMap weights;    // masters
  TensorMap optimizer;  // Optimizer::state()
};

// Everything except the tensors.
Json to_json(const TrainingState& state);
TrainingState training_state_from(const JsonObject& json);

// What must be the same for a run to go on: {"seed", "1"}, {"learning rate", "0.02"} and the like,
// compared, and named in an error, in their order.
struct RunIdentityItem {
  std::string name;
  std::string value;
  // What a checkpoint without this item was made with; none: it is not compared.
  std::optional<std::string> when_missing = {};
};
using RunIdentity = std::vector<RunIdentityItem>;

// The checkpoints of a run, OUT/checkpoint-00000100 and so on: model folders with
// optimizer.safetensors and trainer_state.json beside the weights. Each appears whole or not at
// all; trainer_state.json holds the checksums of the others and its own. OUT/best is the model
// folder of the best validation, with checksums.json beside its files.
class Checkpoints {
 public:
  Checkpoints(std::filesystem::path folder, int64_t keep, RunIdentity identity = {})
      : folder_(std::move(folder)), keep_(keep), identity_(std::move(identity)) {}

  // Once the new one is on disk, removes the oldest beyond `keep`, and checkpoints of later steps,
  // which were damaged when this run resumed.
  void save(const TrainingState& state, const ModelFolder& model) const;

  // The newest valid one; a damaged one is logged and the one before it is used. Nothing if there
  // is none. Refuses a checkpoint of another model or identity.
  std::optional<TrainingState> load_latest(const ModelConfig& expected) const;

  std::filesystem::path path_of(int64_t step) const;
  int64_t count() const { return std::ssize(newest_first()); }
  int64_t newest_step() const;  // of the newest, valid or not; 0 if there is none
  void remove_all() const;      // for a run that starts over

  std::filesystem::path best() const { return folder_ / "best"; }
  void save_best(const ModelFolder& model) const;
  bool has_best() const;  // an Error if it is damaged

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
