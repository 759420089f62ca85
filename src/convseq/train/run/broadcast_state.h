#pragma once

#include "convseq/dist/communicator.h"
#include "convseq/train/run/training_checkpoint.h"

namespace convseq {

// Broadcasts the first process's training state with all its tensors, or nothing. Only the first
// process reads the checkpoint, so that all resume from the same weights.
void broadcast_state(std::optional<TrainingState>& state, Communicator& communicator,
                     torch::Device device);

// Refuses to resume if another process sees a newer checkpoint than the first one, which would be
// lost.
void require_newest_on_first(int64_t newest_step, Communicator& communicator, torch::Device device,
                             const std::string& folder);

}  // namespace convseq
