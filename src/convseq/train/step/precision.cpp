#include "convseq/train/step/precision.h"

#include <algorithm>

#include "convseq/base/error.h"
#include "convseq/kernels/cpu_level.h"

namespace convseq {

bool has_fast_bf16_on_cpu() {
#ifdef __aarch64__
  return std::ranges::count(kernels::cpu_levels(), kernels::CpuLevel::I8mm) > 0;
#else
  return true;
#endif
}

void check_precision(torch::Device device, torch::Dtype type) {
  require(!device.is_cpu() || type != torch::kBFloat16 || has_fast_bf16_on_cpu(),
          "{}: is slower than fp32 on an Arm CPU without bf16 instructions; use {}, or a GPU",
          OptionName("precision", "bf16"), OptionName("precision", "fp32"));
}

}  // namespace convseq
