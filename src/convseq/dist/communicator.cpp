#include "convseq/dist/communicator.h"

namespace convseq {

std::unique_ptr<Communicator> make_communicator(torch::Device device, const Launch& launch) {
  if (launch.size == 1) return make_single_communicator();
  if (device.is_cuda()) return make_nccl_communicator(device, launch);
  return make_mpi_communicator(launch);
}

void run_together(Communicator& communicator, const std::function<void()>& part,
                  const DescribeException& describe) {
  if (communicator.size() == 1) return part();
  try {
    part();
  } catch (const std::exception& error) {
    communicator.end_all(describe(error));
  }
}

}  // namespace convseq
