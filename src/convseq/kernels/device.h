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
// Why CUDA cannot be used though there is a GPU; empty: it can, or there is none.
std::string cuda_problem();

}  // namespace convseq::kernels
