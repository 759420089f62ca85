#include "convseq/kernels/cpu/infer/row_loops.h"

#include "convseq/kernels/cpu/infer/reductions.h"
#include "convseq/kernels/cpu/sigmoid.h"

namespace convseq::kernels::CONVSEQ_LEVEL {
namespace {

template <int W>
struct IntVector {
  typedef int32_t Type __attribute__((vector_size(4 * W)));
};
using Ints = IntVector<kLanes>::Type;

template <int W>
CONVSEQ_INLINE int32_t largest_lane(typename IntVector<W>::Type values) {
  if constexpr (W == 1) {
    return values[0];
  } else {
    typename IntVector<W / 2>::Type low, high;
    __builtin_memcpy(&low, &values, sizeof low);
    __builtin_memcpy(&high, reinterpret_cast<const char*>(&values) + sizeof low, sizeof high);
    return largest_lane<W / 2>(low > high ? low : high);
  }
}

// The largest magnitude, compared as integers: NaN is above all numbers.
CONVSEQ_INLINE float largest_magnitude(const float* x, int64_t count) {
  Ints largest[kChains] = {};
  int32_t rest = 0;
  for_chains(count, [&](auto width, int64_t c, auto chain) CONVSEQ_LAMBDA {
    if constexpr (width.kValue == kLanes) {
      const Ints bits = bits_as<Ints>(load<kLanes>(x + c)) & 0x7fffffff;
      Ints& most = largest[chain.kValue];
      most = bits > most ? bits : most;
    } else {
      rest = larger(rest, bits_as<int32_t>(x[c]) & 0x7fffffff);
    }
  });
  for (int i = 1; i < kChains; ++i) largest[0] = largest[i] > largest[0] ? largest[i] : largest[0];
  return bits_as<float>(larger(rest, largest_lane<kLanes>(largest[0])));
}

constexpr float kRound = 12582912.0F;  // 1.5 · 2^23: adding it rounds to the nearest whole number

// W quantised values as T; x · inverse is at most 127 in magnitude, give or take rounding.
template <int W, class T>
CONVSEQ_INLINE void store_quantised(T* to, const float* x, float inverse, int offset) {
  typedef int32_t Whole __attribute__((vector_size(4 * W)));
  typedef T Stored __attribute__((vector_size(sizeof(T) * W)));
  const Floats<W> shifted = fma<W>(load<W>(x), inverse, kRound);
  const Whole whole = bits_as<Whole>(shifted) - bits_as<int32_t>(kRound) + offset;
  const Stored stored = __builtin_convertvector(whole, Stored);
  __builtin_memcpy(to, &stored, sizeof stored);
}

// Row `row` of the buffer by store(width, to, from), in the groups of G values that alternate with
// those of the other rows of its tile. The last group is filled up with zeros.
template <int G, class T, class Store>
CONVSEQ_INLINE void pack_groups(const RowBuffer& buffer, int64_t row, const float* x, int64_t count,
                                const Store& store) {
  constexpr int kWidth = smaller(G, 16);
  const int64_t tile = buffer.format.row_tile, slot = row % tile;
  T* to = reinterpret_cast<T*>(buffer.rows) + (row - slot) * buffer.row_stride + slot * G;
  const auto pack_group = [&](const float* from) CONVSEQ_LAMBDA {
    unroll<G / kWidth>([&](auto i) CONVSEQ_LAMBDA {
      store(Number<kWidth>{}, to + i.kValue * kWidth, from + i.kValue * kWidth);
    });
    to += tile * G;
  };
  int64_t c = 0;
  for (; c + G <= count; c += G) pack_group(x + c);
  for (; c < buffer.inputs; c += G) {
    float last[G] = {};
    for (int64_t i = 0; c + i < count; ++i) last[i] = x[c + i];
    pack_group(last);
  }
}

void pack_quantised(const RowBuffer& to, int64_t row, const float* x, int64_t count) {
  const float largest = largest_magnitude(x, count);
  to.scales[row] = largest / 127;
  // Of a row with an infinity or a NaN nothing is known: its scale makes all its results NaN.
  const bool finite = largest <= 3.4028235e38F;
  const float inverse = finite && largest > 0 ? 127 / largest : 0;
  if (!finite) to.scales[row] = __builtin_nanf("");
  const auto store = [&](int offset) CONVSEQ_LAMBDA {
    return [inverse, offset](auto width, auto* values, const float* from)
               CONVSEQ_LAMBDA { store_quantised<width.kValue>(values, from, inverse, offset); };
  };
  // The inputs are padded to a multiple of the group.
  switch (to.format.element) {
    case RowElement::Uint8:
      if (to.format.row_group == 64) return pack_groups<64, uint8_t>(to, row, x, count, store(128));
      return pack_groups<16, uint8_t>(to, row, x, count, store(128));
    default:
      return pack_groups<8, int8_t>(to, row, x, count, store(0));
  }
}

void pack_bf16(const RowBuffer& to, int64_t row, const float* x, int64_t count) {
  const auto store_bf16 = [](auto width, Bf16* values, const float* from) CONVSEQ_LAMBDA {
    store<width.kValue>(values, load<width.kValue>(from));
  };
  if (to.format.row_group == 32) return pack_groups<32, Bf16>(to, row, x, count, store_bf16);
  return pack_groups<4, Bf16>(to, row, x, count, store_bf16);
}

void pack_fp32(const RowBuffer& to, int64_t row, const float* x, int64_t count) {
  auto* out = reinterpret_cast<float*>(to.rows) + row * to.row_stride;
  const bool rounds = to.format.element == RowElement::Fp32OfBf16;
  for_blocks(0, count, [&](auto width, int64_t c) CONVSEQ_LAMBDA {
    constexpr int kWidth = width.kValue;
    auto values = load<kWidth>(x + c);
    if (rounds) {
      Bf16 halves[kWidth];
      store<kWidth>(halves, values);
      values = load<kWidth>(halves);
    }
    store<kWidth>(out + c, values);
  });
  for (int64_t c = count; c < to.inputs; ++c) out[c] = 0;
}

void pack(const RowBuffer& to, int64_t row, const float* x, int64_t count) {
  switch (to.format.element) {
    case RowElement::Fp32:
    case RowElement::Fp32OfBf16:
      return pack_fp32(to, row, x, count);
    case RowElement::Bf16:
      return pack_bf16(to, row, x, count);
    default:
      return pack_quantised(to, row, x, count);
  }
}

void glu(const float* x, const float* gate, int64_t count, float* y) {
  for_vectors<kLockstep>(0, count, [&](auto vectors, auto width, int64_t c) CONVSEQ_LAMBDA {
    constexpr int kWidth = vectors.kValue * width.kValue;
    store<kWidth>(y + c, load<kWidth>(x + c) / sigmoid_denominator<kWidth>(load<kWidth>(gate + c)));
  });
}

// gelu(g) = g (1 + tanh u) / 2 = g sigmoid(2u), u = √(2/π) (g + 0.044715 g³)
void gated_gelu(const float* gate, const float* x, int64_t count, float* y) {
  for_vectors<kLockstep>(0, count, [&](auto vectors, auto width, int64_t c) CONVSEQ_LAMBDA {
    constexpr int kWidth = vectors.kValue * width.kValue;
    const auto g = load<kWidth>(gate + c);
    const auto twice_u = g * fma<kWidth>(g * g, 0.0713548163F, 1.5957691216F);
    store<kWidth>(y + c, g / sigmoid_denominator<kWidth>(twice_u) * load<kWidth>(x + c));
  });
}

void norm(const float* x, const NormParameters& norm, const float* residual, int64_t count,
          float* y) {
  const auto total = static_cast<float>(count);
  float mean = 0;
  if (norm.bias != nullptr) {
    mean = sum_over(count, [&](auto width, int64_t c, auto sum)
                               CONVSEQ_LAMBDA { return sum + load<width.kValue>(x + c); }) /
           total;
  }
  const float squares = sum_over(count, [&](auto width, int64_t c, auto sum) CONVSEQ_LAMBDA {
    const auto centred = load<width.kValue>(x + c) - mean;
    return fma<width.kValue>(centred, centred, sum);
  });
  const float scale = 1 / __builtin_sqrtf(squares / total + norm.eps);
  for_blocks(0, count, [&](auto width, int64_t c) CONVSEQ_LAMBDA {
    constexpr int kWidth = width.kValue;
    const auto scaled = (load<kWidth>(x + c) - mean) * scale;
    const auto bias = norm.bias == nullptr ? Floats<kWidth>{} : load<kWidth>(norm.bias + c);
    auto value = fma<kWidth>(scaled, load<kWidth>(norm.weight + c), bias);
    if (residual != nullptr) value += load<kWidth>(residual + c);
    store<kWidth>(y + c, value);
  });
}

void mean(const FloatRows& x, int64_t rows, int64_t channels, float* out) {
  const float inverse = rows > 0 ? 1 / static_cast<float>(rows) : 0;
  for_blocks(0, channels, [&](auto width, int64_t c) CONVSEQ_LAMBDA {
    constexpr int kWidth = width.kValue;
    Floats<kWidth> sum = {};
    for (int64_t r = 0; r < rows; ++r) sum += load<kWidth>(x.data + r * x.stride + c);
    store<kWidth>(out + c, sum * inverse);
  });
}

CONVSEQ_INLINE float sum_of_exponentials(const float* x, int64_t count, float largest) {
  return sum_over(count, [&](auto width, int64_t c, auto sum) CONVSEQ_LAMBDA {
    return sum + exp<width.kValue>(load<width.kValue>(x + c) - largest);
  });
}

LikeliestToken likeliest(const float* logits, int64_t count) {
  const float largest = largest_of(logits, count);
  int64_t id = 0;
  while (id + 1 < count && logits[id] != largest) ++id;
  return {.id = id,
          .log_probability = -__builtin_logf(sum_of_exponentials(logits, count, largest))};
}

float log_sum_exp(const float* logits, int64_t count) {
  const float largest = largest_of(logits, count);
  return largest + __builtin_logf(sum_of_exponentials(logits, count, largest));
}

}  // namespace

const RowLoops kRowLoops = {.pack = pack,
                            .glu = glu,
                            .gated_gelu = gated_gelu,
                            .norm = norm,
                            .mean = mean,
                            .likeliest = likeliest,
                            .log_sum_exp = log_sum_exp};

}  // namespace convseq::kernels::CONVSEQ_LEVEL
