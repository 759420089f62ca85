#pragma once

#include <torch/types.h>

namespace convseq {

// Throws an Error for a type that is slower than fp32 on this device: bf16 on an Arm CPU, where
// libtorch has no fast bf16 matmul. Only commands call this; the library accepts any type.
void check_precision(torch::Device device, torch::Dtype type);

}  // namespace convseq
