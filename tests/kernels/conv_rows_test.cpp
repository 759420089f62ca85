#include "convseq/kernels/conv_rows.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

// Rows of a sequence and steps of decoding against whole calls of the same kernels, bit for bit.
namespace convseq::kernels {
namespace {

using Floats = std::vector<float>;

constexpr int64_t kGap = 3;  // floats between rows, which nobody may read or write

Floats random_floats(int64_t size, unsigned seed) {
  std::mt19937 generator(seed);
  std::uniform_real_distribution<float> values(-2, 2);
  Floats made(static_cast<size_t>(size));
  for (float& value : made) value = values(generator);
  return made;
}

Floats nans(int64_t size) {
  return Floats(static_cast<size_t>(size), std::numeric_limits<float>::quiet_NaN());
}

// One sequence, its taps, and what the kernels of whole batches make of it.
struct Sequence {
  ConvShape shape;
  ConvGate gate;
  bool dynamic;
  Floats x, taps;

  Sequence(const ConvShape& s, ConvGate g, bool has_dynamic_taps)
      : shape(s),
        gate(g),
        dynamic(has_dynamic_taps),
        x(random_floats(s.time * width(), 1)),
        taps(random_floats((dynamic ? s.time : 1) * s.heads * s.kernel, 2)) {}

  int64_t width() const { return conv_input_width(shape, gate); }
  const float* row(int64_t t) const { return x.data() + t * width(); }

  Floats gated(CpuLevel level) const {
    const int64_t channels = shape.channels;
    Floats made(static_cast<size_t>(shape.time * channels));
    if (gate == ConvGate::Glu) {
      glu_forward_cpu(shape, {.x = x.data(), .y = made.data()}, {.level = level});
      return made;
    }
    for (int64_t i = 0; i < shape.time * channels; ++i) {
      const float* from = row(i / channels) + i % channels;
      made[static_cast<size_t>(i)] =
          gate == ConvGate::Product ? from[0] * from[2 * channels] : from[0];
    }
    return made;
  }
  Floats expected(CpuLevel level) const {
    const Floats input = gated(level);
    Floats y(input.size());
    if (dynamic) {
      dynamic_conv_forward_cpu(shape,
                               {.x = input.data(), .taps = {.values = taps.data()}, .y = y.data()},
                               {.level = level});
    } else {
      conv_forward_cpu(shape, {.x = input.data(), .taps = taps.data(), .y = y.data()},
                       {.level = level});
    }
    for (size_t i = 0; i < y.size() && gate == ConvGate::Product; ++i) {
      const auto at = static_cast<int64_t>(i);
      y[i] *= row(at / shape.channels)[shape.channels + at % shape.channels];
    }
    return y;
  }

  // In calls of at most `rows` rows, with gaps between the rows of x and y.
  Floats in_calls_of(int64_t rows, CpuLevel level) const {
    const int64_t x_stride = width() + kGap, y_stride = shape.channels + kGap;
    Floats spaced = nans(shape.time * x_stride), y = nans(shape.time * y_stride);
    Floats workspace = nans(conv_rows_workspace(shape, gate, rows));
    for (int64_t t = 0; t < shape.time; ++t) {
      std::copy_n(row(t), width(), spaced.data() + t * x_stride);
    }
    Floats packed(static_cast<size_t>(shape.channels * shape.kernel));
    if (!dynamic) pack_conv_taps(shape, taps.data(), packed.data(), level);
    for (int64_t begin = 0; begin < shape.time; begin += rows) {
      conv_rows(shape,
                {.x = spaced.data(),
                 .x_stride = x_stride,
                 .gate = gate,
                 .packed_taps = dynamic ? nullptr : packed.data(),
                 .dynamic_taps = {.values = dynamic ? taps.data() : nullptr},
                 .begin = begin,
                 .end = std::min(begin + rows, shape.time),
                 .y = y.data(),
                 .y_stride = y_stride,
                 .workspace = workspace.data()},
                level);
    }
    Floats dense;
    for (int64_t t = 0; t < shape.time; ++t) {
      const float* from = y.data() + t * y_stride;
      dense.insert(dense.end(), from, from + shape.channels);
      for (int64_t i = 0; i < kGap; ++i) EXPECT_TRUE(std::isnan(from[shape.channels + i]));
    }
    return dense;
  }

  Floats in_steps(CpuLevel level) const {
    const int64_t reach = (shape.kernel - 1) * shape.dilation;
    Floats ring(static_cast<size_t>(reach * shape.channels));
    Floats y = nans(shape.time * shape.channels);
    Floats workspace = nans(conv_rows_workspace(shape, gate, 1));
    for (int64_t t = 0; t < shape.time; ++t) {
      const float* own_taps = taps.data() + (dynamic ? t * shape.heads * shape.kernel : 0);
      conv_step_row(shape,
                    {.x = row(t),
                     .gate = gate,
                     .static_taps = dynamic ? nullptr : own_taps,
                     .dynamic_taps = {.values = dynamic ? own_taps : nullptr},
                     .position = t,
                     .ring = reach == 0 ? nullptr : ring.data(),
                     .y = y.data() + t * shape.channels,
                     .workspace = workspace.data()},
                    level);
    }
    return y;
  }
};

template <class F>
void for_sequences(const F& f) {
  struct Size {
    int64_t time, channels, heads, kernel, dilation, left;
  };
  for (const Size& size :
       {Size{1, 16, 1, 7, 1, 3}, Size{5, 3, 3, 15, 1, 14}, Size{70, 64, 2, 7, 1, 3},
        Size{70, 64, 2, 7, 1, 6}, Size{33, 48, 3, 31, 1, 15}, Size{41, 48, 48, 3, 1, 2},
        Size{50, 37, 37, 4, 1, 3}, Size{60, 32, 2, 5, 3, 12}, Size{40, 40, 2, 23, 2, 22},
        Size{21, 20, 5, 1, 1, 0}}) {
    const ConvShape shape{.batch = 1,
                          .time = size.time,
                          .channels = size.channels,
                          .heads = size.heads,
                          .kernel = size.kernel,
                          .dilation = size.dilation,
                          .left = size.left};
    for (const ConvGate gate : {ConvGate::None, ConvGate::Glu, ConvGate::Product}) {
      for (const bool dynamic : {false, true}) f(Sequence(shape, gate, dynamic));
    }
  }
}

}  // namespace

TEST(ConvRows, EqualTheWholeSequenceHoweverItIsCut) {
  for_sequences([](const Sequence& sequence) {
    for (const CpuLevel level : cpu_levels()) {
      const Floats expected = sequence.expected(level);
      for (const int64_t rows : {1, 3, 16, 64, 100}) {
        EXPECT_EQ(sequence.in_calls_of(rows, level), expected)
            << rows << " rows, " << sequence.shape.channels << " channels, kernel "
            << sequence.shape.kernel;
      }
    }
  });
}

TEST(ConvRows, StepsEqualTheWholeCausalSequence) {
  for_sequences([](const Sequence& sequence) {
    const ConvShape& shape = sequence.shape;
    if (shape.left != (shape.kernel - 1) * shape.dilation) return;
    for (const CpuLevel level : cpu_levels()) {
      EXPECT_EQ(sequence.in_steps(level), sequence.expected(level))
          << shape.channels << " channels, kernel " << shape.kernel;
    }
  });
}

}  // namespace convseq::kernels
