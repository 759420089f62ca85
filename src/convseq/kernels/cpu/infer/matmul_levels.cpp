#include "convseq/kernels/cpu/infer/matmul_levels.h"

namespace convseq::kernels {
namespace {

struct MatmulKernels {
  const MatmulKernel &fp32, &bf16, &int8;
};

MatmulKernels kernels_of(CpuLevel level) {
  switch (level) {
#if defined(__aarch64__)
    case CpuLevel::I8mm:
      return {baseline::kFp32Matmul, i8mm::kBf16Matmul, i8mm::kInt8Matmul};
    case CpuLevel::DotProduct:
      return {baseline::kFp32Matmul, baseline::kBf16Matmul, dotprod::kInt8Matmul};
#elif defined(__x86_64__)
    case CpuLevel::Amx:
      return {avx512::kFp32Matmul, amx::kBf16Matmul, amx::kInt8Matmul};
    case CpuLevel::Avx512Bf16:
      return {avx512::kFp32Matmul, avx512_bf16::kBf16Matmul, avx512_vnni::kInt8Matmul};
    case CpuLevel::Avx512Vnni:
      return {avx512::kFp32Matmul, avx512::kBf16Matmul, avx512_vnni::kInt8Matmul};
    case CpuLevel::Avx512:
      return {avx512::kFp32Matmul, avx512::kBf16Matmul, avx512::kInt8PairMatmul};
    case CpuLevel::AvxVnni:
      return {avx2::kFp32Matmul, avx2::kBf16Matmul, avx_vnni::kInt8Matmul};
    case CpuLevel::Avx2:
      return {avx2::kFp32Matmul, avx2::kBf16Matmul, avx2::kInt8PairMatmul};
#endif
    default:
      return {baseline::kFp32Matmul, baseline::kBf16Matmul, baseline::kInt8Matmul};
  }
}

}  // namespace

const MatmulKernel& matmul_kernel(WeightType type, CpuLevel level) {
  const MatmulKernels kernels = kernels_of(level);
  switch (type) {
    case WeightType::Bf16:
      return kernels.bf16;
    case WeightType::Int8:
      return kernels.int8;
    default:
      return kernels.fp32;
  }
}

std::vector<MatmulInstruction> matmul_instructions(WeightType type, CpuLevel level) {
  std::vector<MatmulInstruction> instructions = {matmul_kernel(type, level).instruction};
  if (level == CpuLevel::Amx && type != WeightType::Fp32) {
    instructions.push_back(matmul_kernel(type, CpuLevel::Avx512Bf16).instruction);
  }
  return instructions;
}

}  // namespace convseq::kernels
