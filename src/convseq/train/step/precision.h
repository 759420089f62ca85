#pragma once

#include <torch/types.h>

namespace convseq {

// Refuses a type that makes training and inference slower than fp32 on this device: bf16 on an Arm
// CPU, where libtorch has no fast products of bf16. For commands; the library computes with any.
void check_precision(torch::Device device, torch::Dtype type);

}  // namespace convseq
