#pragma once

#include <cstddef>
#include <cstdint>

namespace convseq::kernels {

enum class Type { Fp32, Bf16 };

// A CUDA stream, opaque so that no CUDA header is needed to name it.
using Stream = void*;

}  // namespace convseq::kernels
