#pragma once

namespace convseq::kernels {

// exp(x) for x ≤ 0, as accurate as __expf. Results below 1e-38 are flushed to 0, which saves the
// scaling of subnormal numbers.
__device__ inline float small_exp(float x) {
  float power;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"(x * 1.44269504f));
  return power;
}

}  // namespace convseq::kernels
