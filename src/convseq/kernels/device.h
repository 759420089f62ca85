#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace convseq::kernels {

struct CudaDevice {
  std::string name;
  int major = 0;  // compute capability
  int minor = 0;
  int multiprocessors = 0;
  int64_t memory_bytes = 0;
};

bool built_with_cuda();
std::vector<CudaDevice> cuda_devices();  // empty without a GPU or a driver
// "the GPU cannot be used: …", where a driver is installed; empty: it can, or there is no GPU.
std::string cuda_problem();

}  // namespace convseq::kernels
