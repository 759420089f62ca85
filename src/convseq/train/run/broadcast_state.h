#pragma once

#include "convseq/dist/communicator.h"
#include "convseq/train/run/training_checkpoint.h"

namespace convseq {

// Broadcasts the training state of the first process, if it has one, with all tensors. Only the
// first process reads the checkpoint, so that all processes resume from the same weights.
void broadcast_state(std::optional<TrainingState>& state, Communicator& communicator,
                     torch::Device device);

// Throws an Error if another process sees a newer checkpoint than the first process: resuming would
// lose it.
void require_newest_on_first(int64_t newest_step, Communicator& communicator, torch::Device device,
                             const std::string& folder);

}  // namespace convseq
