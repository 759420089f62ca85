#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "data/stream_cursor.h"
#include "model/checkpoint.h"

namespace convseq {

// All that a run needs to go on as if it had never stopped.
struct TrainingState {
  int64_t step = 0;
  int64_t source_tokens = 0;
  int64_t skipped_steps = 0;
  std::optional<double> best_validation;
  StreamCursor cursor;
  TensorMap weights;    // masters
  TensorMap optimizer;  // Optimizer::state()
};

// The checkpoints of a run, OUT/checkpoint-00000100 and so on: model folders with
// optimizer.safetensors and trainer_state.json beside the weights. Each appears whole or not at
// all; trainer_state.json holds the checksums of the others.
class Checkpoints {
 public:
  Checkpoints(std::filesystem::path folder, int64_t keep)
      : folder_(std::move(folder)), keep_(keep) {}

  // Also saves libtorch's random state. The oldest beyond `keep` are removed once the new one is
  // safe.
  void save(const TrainingState& state, const ModelFolder& model) const;

  // The newest that is whole, and libtorch's random state with it; one that is damaged is reported
  // and the one before it taken. Nothing where there is none.
  std::optional<TrainingState> load_latest(const ModelConfig& expected) const;

 private:
  std::vector<std::filesystem::path> newest_first() const;

  std::filesystem::path folder_;
  int64_t keep_;
};

}  // namespace convseq
