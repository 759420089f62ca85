#pragma once

#include <cstddef>
#include <cstdint>

#include "convseq/base/safetensors/tensor_type.h"

namespace convseq {

// Stored numbers, at any address, in fp32: F32, BF16, F16, F64, or I8 without its scale.
void to_fp32(TensorType type, const std::byte* from, int64_t count, float* to);

}  // namespace convseq
