#include "convseq/base/error.h"
#include "convseq/dist/communicator.h"

namespace convseq {

std::unique_ptr<Communicator> make_nccl_communicator(torch::Device, const Launch& launch) {
  fail(
      "{} processes were started by {} for GPUs, but this build has no NCCL to join them; build "
      "with "
      "CUDA and nccl.h, or start one",
      launch.size, name_of(launch.launcher));
}

}  // namespace convseq
