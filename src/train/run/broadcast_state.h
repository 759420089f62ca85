#pragma once

#include "convseq/dist/communicator.h"
#include "convseq/train/run/training_checkpoint.h"

namespace convseq {

// Every process gets what the first one has: its training state with all tensors, or nothing. Only
// the first process's folder is read when a run goes on, so that all go on from the same weights.
void broadcast_state(std::optional<TrainingState>& state, Communicator& communicator,
                     torch::Device device);

// Refuses to go on where another process sees a newer checkpoint than the first one: that one is
// the run's last state, and would be lost.
void require_newest_on_first(int64_t newest_step, Communicator& communicator, torch::Device device,
                             const std::string& folder);

}  // namespace convseq
