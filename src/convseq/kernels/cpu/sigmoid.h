#pragma once

#include "convseq/kernels/cpu/vector.h"

// The sigmoid as the reciprocal of its denominator. For files compiled once per CpuLevel.
namespace convseq::kernels::CONVSEQ_LEVEL {

// A constant of multiply-adds. On Arm it is loaded: a Neoverse V1 executes half as many
// multiply-adds per cycle if all three operands were computed or copied from other registers. The
// asm statements keep the compiler from knowing the value, which it would copy.
class Constant {
 public:
  constexpr explicit Constant(float value) : values_{} {
    for (float& each : values_) each = value;
  }

  // To multiply by: stays in one register.
  template <int W>
  CONVSEQ_INLINE Floats<W> factor() const {
#ifdef __aarch64__
    if constexpr (W >= 4) {
      const float* from = values_;
      asm("" : "+r"(from));
      const auto four = load<4>(from);
      Floats<W> wide;
      for (int i = 0; i < W; i += 4) {
        __builtin_memcpy(reinterpret_cast<float*>(&wide) + i, &four, sizeof four);
      }
      return wide;
    }
#endif
    return broadcast<W>(values_[0]);
  }

  // To add products to: the multiply-add overwrites it, so it is loaded each time.
  template <int W>
  CONVSEQ_INLINE Floats<W> addend() const {
#ifdef __aarch64__
    static_assert(W <= kCopies);
    const float* from = values_;
    asm volatile("" : "+r"(from));
    return load<W>(from);
#else
    return broadcast<W>(values_[0]);
#endif
  }

 private:
  static constexpr int kCopies = 16;
  alignas(16) float values_[kCopies];
};

// 1 + e^-x = 1 + 2^n e^-r, r = x + n ln 2, |r| ≤ ln 2 / 2; e^-r = 1 − r + r² q(r), whose relative
// error is under 4e-9.
template <int W>
CONVSEQ_INLINE Floats<W> sigmoid_denominator(Floats<W> x) {
  static constexpr Constant kBias(12583039.0F), kScale(-1.44269504F), kLn2(0.693359375F),
      kLn2Rest(-2.12194440e-4F), kQ0(0.49999994F), kQ1(-0.166665211F), kQ2(4.1668389e-2F),
      kQ3(-8.36874545e-3F), kQ4(1.38145406e-3F);
  x = clamp<W>(x, -87, 87);  // where 2^n is a normal float
  // Adding 1.5 · 2^23 + 127 leaves n + 127, the exponent field of 2^n, in the low bits.
  const Floats<W> shifted = fma<W>(x, kScale.factor<W>(), kBias.addend<W>());
  const auto power = bits_as<Floats<W>>(bits_as<Words<W>>(shifted) << 23);
  const Floats<W> n = shifted - 12583039.0F;
  // ln 2 in two parts
  const Floats<W> r = fma<W>(n, kLn2Rest.factor<W>(), fma<W>(n, kLn2.factor<W>(), x));
  const Floats<W> r2 = r * r;
  Floats<W> q = fma<W>(r, kQ3.factor<W>(), kQ2.addend<W>());
  q = fma<W>(r2, kQ4.factor<W>(), q);
  q = fma<W>(r2, q, fma<W>(r, kQ1.factor<W>(), kQ0.addend<W>()));
  return fma<W>(-power, fma<W>(-r2, q, r), power + 1.0F);
}

}  // namespace convseq::kernels::CONVSEQ_LEVEL
