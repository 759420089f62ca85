#pragma once

#include <cstddef>

#include "convseq/kernels/cpu/vector.h"

// A loop of nothing but one instruction, on enough independent registers to hide its latency.
namespace convseq::kernels::CONVSEQ_LEVEL {

#if defined(__aarch64__) || CONVSEQ_LANES == 16
inline constexpr int kLoopSums = 24;  // of 32 registers
#else
inline constexpr int kLoopSums = 12;  // of 16
#endif

// sum = multiply(sum, x, w), `times` times in each of kLoopSums registers.
template <class Sums, class Values, class Multiply>
CONVSEQ_INLINE float repeat_multiply(int64_t times, const Multiply& multiply) {
  constexpr int kSumLanes = sizeof(Sums) / 4, kValueLanes = sizeof(Values) / 4;
  constexpr float kValue = 1.001953125F;  // in bf16 a one and a two
  auto x = opaque<kValueLanes>(broadcast<kValueLanes>(kValue));
  const auto w = bits_as<Values>(opaque<kValueLanes>(x));
  Sums sums[kLoopSums];
  unroll<kLoopSums>([&](auto i) CONVSEQ_LAMBDA {
    sums[i.kValue] = bits_as<Sums>(opaque<kSumLanes>(Floats<kSumLanes>{}));
  });
  for (int64_t time = 0; time < times; ++time) {
    unroll<kLoopSums>([&](auto i) CONVSEQ_LAMBDA {
      x = opaque<kValueLanes>(x);  // no product is computed before the loop
      sums[i.kValue] = multiply(sums[i.kValue], bits_as<Values>(x), w);
    });
  }
  Floats<kSumLanes> total = {};
  unroll<kLoopSums>([&](auto i)
                        CONVSEQ_LAMBDA { total += bits_as<Floats<kSumLanes>>(sums[i.kValue]); });
  return opaque<kSumLanes>(total)[0];
}

}  // namespace convseq::kernels::CONVSEQ_LEVEL
