#pragma once

#include "convseq/kernels/cpu/infer/matmul_kernel.h"

// The kernels of each instruction set, in the namespace of the level that they are compiled for.
namespace convseq::kernels {

namespace baseline {
extern const MatmulKernel kFp32Matmul, kBf16Matmul, kInt8Matmul;
}

}  // namespace convseq::kernels
