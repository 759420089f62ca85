#include "convseq/kernels/cpu/infer/matmul_levels.h"

namespace convseq::kernels {
namespace {

const MatmulKernel& fp32_kernel(CpuLevel) { return baseline::kFp32Matmul; }
const MatmulKernel& bf16_kernel(CpuLevel) { return baseline::kBf16Matmul; }
const MatmulKernel& int8_kernel(CpuLevel) { return baseline::kInt8Matmul; }

}  // namespace

const MatmulKernel& matmul_kernel(WeightType type, CpuLevel level) {
  switch (type) {
    case WeightType::Bf16:
      return bf16_kernel(level);
    case WeightType::Int8:
      return int8_kernel(level);
    default:
      return fp32_kernel(level);
  }
}

}  // namespace convseq::kernels
