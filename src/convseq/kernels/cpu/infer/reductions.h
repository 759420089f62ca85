#pragma once

#include <cstddef>

#include "convseq/kernels/cpu/vector.h"

// Sums and maxima over an array, in an order that depends on nothing but its length.
namespace convseq::kernels::CONVSEQ_LEVEL {

// Sums and maxima use this many vectors, so that a chain of additions does not wait for itself.
constexpr int kChains = 4;

// f(width, c, chain) over [0, count): whole vectors in turns over the chains, then single values in
// chain 0. The order does not depend on anything but `count`.
template <class F>
CONVSEQ_INLINE void for_chains(int64_t count, const F& f) {
  int64_t c = 0;
  for (; c + kChains * kLanes <= count; c += kChains * kLanes) {
    unroll<kChains>([&](auto i) CONVSEQ_LAMBDA { f(Number<kLanes>{}, c + i.kValue * kLanes, i); });
  }
  for (; c + kLanes <= count; c += kLanes) f(Number<kLanes>{}, c, Number<0>{});
  for (; c < count; ++c) f(Number<1>{}, c, Number<0>{});
}

// The sum over [0, count); f(width, c, sum) adds its values at c to a sum.
template <class F>
CONVSEQ_INLINE float sum_over(int64_t count, const F& f) {
  Floats<kLanes> sums[kChains] = {};
  Floats<1> rest = {};
  for_chains(count, [&](auto width, int64_t c, auto chain) CONVSEQ_LAMBDA {
    if constexpr (width.kValue == kLanes) {
      sums[chain.kValue] = f(width, c, sums[chain.kValue]);
    } else {
      rest = f(width, c, rest);
    }
  });
  return sum_of<kLanes>((sums[0] + sums[1]) + (sums[2] + sums[3])) + rest[0];
}

// The largest value. Where there is a NaN the result may be any of the values.
CONVSEQ_INLINE float largest_of(const float* x, int64_t count) {
  Floats<kLanes> largest[kChains];
  for (auto& each : largest) each = broadcast<kLanes>(-__builtin_inff());
  float rest = -__builtin_inff();
  for_chains(count, [&](auto width, int64_t c, auto chain) CONVSEQ_LAMBDA {
    if constexpr (width.kValue == kLanes) {
      const auto values = load<kLanes>(x + c);
      Floats<kLanes>& most = largest[chain.kValue];
      most = values <= most ? most : values;
    } else {
      rest = x[c] <= rest ? rest : x[c];
    }
  });
  for (const auto& each : largest) {
    for (int i = 0; i < kLanes; ++i) rest = each[i] <= rest ? rest : each[i];
  }
  return rest;
}

}  // namespace convseq::kernels::CONVSEQ_LEVEL
