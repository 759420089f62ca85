#pragma once

#include "convseq/kernels/cpu/infer/matmul_kernel.h"

// The kernels of each instruction set, in the namespace of the level that they are compiled for.
namespace convseq::kernels {

namespace baseline {
extern const MatmulKernel kFp32Matmul, kBf16Matmul, kInt8Matmul;
}

#if defined(__aarch64__)
namespace dotprod {
extern const MatmulKernel kInt8Matmul;
}
namespace i8mm {
extern const MatmulKernel kBf16Matmul, kInt8Matmul;
}
#elif defined(__x86_64__)
namespace avx2 {
extern const MatmulKernel kFp32Matmul, kBf16Matmul, kInt8PairMatmul;
}
namespace avx_vnni {
extern const MatmulKernel kInt8Matmul;
}
namespace avx512 {
extern const MatmulKernel kFp32Matmul, kBf16Matmul, kInt8PairMatmul;
}
namespace avx512_vnni {
extern const MatmulKernel kInt8Matmul;
}
namespace avx512_bf16 {
extern const MatmulKernel kBf16Matmul;
}
namespace amx {
extern const MatmulKernel kBf16Matmul, kInt8Matmul;
}
#endif

}  // namespace convseq::kernels
