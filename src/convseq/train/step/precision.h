#pragma once

#include <torch/types.h>

namespace convseq {

// Whether bf16 is not slower than fp32 on this CPU. An Arm CPU needs bf16 instructions for that.
bool has_fast_bf16_on_cpu();

// Throws an Error for bf16 on a CPU where it is slower than fp32. Only commands call this; the
// library accepts any type.
void check_precision(torch::Device device, torch::Dtype type);

}  // namespace convseq
