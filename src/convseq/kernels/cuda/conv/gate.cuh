#pragma once

#include "convseq/kernels/cuda/tensor_core.cuh"

// The gate of a convolution and its gradient, on pairs of bf16 values.
namespace convseq::kernels {

// Eight values times the sigmoids of their gates.
__device__ inline uint4 gate_vector(const uint4& values, const uint4& gates) {
  const auto* value = reinterpret_cast<const unsigned*>(&values);
  const auto* gate = reinterpret_cast<const unsigned*>(&gates);
  uint4 made;
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const float2 a = unpack_pair(value[i]), g = unpack_pair(gate[i]);
    reinterpret_cast<unsigned*>(&made)[i] = pack_pair(a.x * sigmoid(g.x), a.y * sigmoid(g.y));
  }
  return made;
}

// σ(g), and 1 − σ(g) computed as e^−g · σ(g), which is as accurate. The exponent is clamped so that
// e^−g stays finite.
struct Gate {
  float sigma;
  float one_minus_sigma;

  __device__ explicit Gate(float g) {
    float exponent = g * -1.44269504f, power;
    asm("min.NaN.f32 %0, %0, 0f42FC0000;" : "+f"(exponent));  // 126
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"(exponent));
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(sigma) : "f"(1.f + power));
    one_minus_sigma = power * sigma;
  }
};

// Eight values in the layout of an operand of a matmul, with u = a · σ(g): da = du · σ,
// dg = du · u · (1 − σ).
struct GatedSlice {
  float2 sigma[4];
  float2 gate_gradient[4];  // u · (1 − σ)
  unsigned rounded_off[4];  // what u loses when it is rounded

  // Replaces the values by the gated values.
  __device__ GatedSlice(unsigned (&values)[4], const unsigned (&gates)[4]) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const float2 a = unpack_pair(values[i]), g = unpack_pair(gates[i]);
      const Gate first(g.x), second(g.y);
      const float2 u{a.x * first.sigma, a.y * second.sigma};
      sigma[i] = {first.sigma, second.sigma};
      gate_gradient[i] = {u.x * first.one_minus_sigma, u.y * second.one_minus_sigma};
      values[i] = pack_pair(u.x, u.y);
      const float2 rounded = unpack_pair(values[i]);
      rounded_off[i] = pack_pair(u.x - rounded.x, u.y - rounded.y);
    }
  }

  // da and dg, from the accumulators of du.
  __device__ void make_gradients(const float (&du)[2][4], unsigned (&values)[4],
                                 unsigned (&gates)[4]) const {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const float2 d{du[i / 2][i % 2 * 2], du[i / 2][i % 2 * 2 + 1]};
      values[i] = pack_pair(d.x * sigma[i].x, d.y * sigma[i].y);
      gates[i] = pack_pair(d.x * gate_gradient[i].x, d.y * gate_gradient[i].y);
    }
  }
};

}  // namespace convseq::kernels
