#include "convseq/kernels/device.h"

namespace convseq::kernels {

bool built_with_cuda() { return false; }

std::vector<CudaDevice> cuda_devices() { return {}; }
std::string cuda_problem() { return ""; }

}  // namespace convseq::kernels
