#include <cuda_runtime.h>

#include "convseq/kernels/device.h"

namespace convseq::kernels {

bool built_with_cuda() { return true; }

std::vector<CudaDevice> cuda_devices() {
  int count = 0;
  if (cudaGetDeviceCount(&count) != cudaSuccess) return {};
  std::vector<CudaDevice> devices;
  for (int index = 0; index < count; ++index) {
    cudaDeviceProp properties{};
    if (cudaGetDeviceProperties(&properties, index) != cudaSuccess) continue;
    devices.push_back({.name = properties.name,
                       .major = properties.major,
                       .minor = properties.minor,
                       .multiprocessors = properties.multiProcessorCount,
                       .memory_bytes = static_cast<int64_t>(properties.totalGlobalMem)});
  }
  return devices;
}

std::string cuda_problem() {
  int count = 0;
  const cudaError_t error = cudaGetDeviceCount(&count);
  if (error == cudaSuccess || error == cudaErrorNoDevice) return "";
  // The error without a driver is that of a driver which is older than the runtime.
  int driver = 0;
  cudaDriverGetVersion(&driver);  // 0: none is installed
  if (error == cudaErrorInsufficientDriver && driver == 0) return "";
  return std::string("the GPU cannot be used: ") + cudaGetErrorString(error);
}

}  // namespace convseq::kernels
