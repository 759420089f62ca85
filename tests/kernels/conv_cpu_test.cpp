#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <span>
#include <thread>

#include "convseq/base/error.h"
#include "convseq/kernels/conv.h"
#include "convseq/kernels/cpu/conv_loops.h"
#include "kernels/conv_oracle.h"

// The loops below, on raw arrays, against the formulas in float64. Gradients against the reference,
// and many more shapes, are in tests/ops.
namespace convseq::kernels {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// Values of a type in the layout of the kernels. They start as NaN, so that missing writes show.
class Array {
 public:
  Array(int64_t size, Type type)
      : type_(type),
        words_(type == Type::Fp32 ? static_cast<size_t>(size) : 0, kNan),
        halves_(type == Type::Bf16 ? static_cast<size_t>(size) : 0, 0x7fc0) {}

  int64_t size() const { return static_cast<int64_t>(words_.size() + halves_.size()); }
  void* data() { return type_ == Type::Fp32 ? static_cast<void*>(words_.data()) : halves_.data(); }

  double operator[](int64_t i) const {
    const auto at = static_cast<size_t>(i);
    if (type_ == Type::Fp32) return words_[at];
    return std::bit_cast<float>(static_cast<uint32_t>(halves_[at]) << 16);
  }
  void set(int64_t i, float value) {
    const auto at = static_cast<size_t>(i);
    if (type_ == Type::Fp32) {
      words_[at] = value;
    } else {
      halves_[at] = static_cast<uint16_t>(std::bit_cast<uint32_t>(value) >> 16);
    }
  }
  oracle::Numbers numbers() const {
    oracle::Numbers all;
    for (int64_t i = 0; i < size(); ++i) all.push_back((*this)[i]);
    return all;
  }
  Array& randomise(uint64_t seed) {
    uint64_t state = seed * 2654435761U + 1;
    for (int64_t i = 0; i < size(); ++i) {
      state = state * 6364136223846793005U + 1442695040888963407U;
      set(i, static_cast<float>(static_cast<int64_t>(state >> 40) % 2001 - 1000) / 500);
    }
    return *this;
  }
  bool same_bits(const Array& other) const {
    return std::ranges::equal(std::as_bytes(std::span(words_)),
                              std::as_bytes(std::span(other.words_))) &&
           halves_ == other.halves_;
  }

 private:
  Type type_;
  std::vector<float> words_;
  std::vector<uint16_t> halves_;
};

int64_t size_of(Type type) { return type == Type::Fp32 ? 4 : 2; }

// Values at an offset in bytes from the beginning of a cache line; they start as NaN.
class Placed {
 public:
  Placed(int64_t size, Type type, size_t after)
      : bytes_(static_cast<size_t>(size * size_of(type)) + 128, std::byte{0xff}), after_(after) {}

  void* data() { return bytes_.data() + first(); }
  bool same_bits(const Placed& other) const { return std::ranges::equal(all(), other.all()); }

 private:
  size_t first() const {
    return (64 - reinterpret_cast<uintptr_t>(bytes_.data()) % 64) % 64 + after_;
  }
  std::span<const std::byte> all() const {
    return std::span(bytes_).subspan(first(), bytes_.size() - 128);
  }

  std::vector<std::byte> bytes_;
  size_t after_;
};

double tolerance(Type type) { return type == Type::Fp32 ? 2e-5 : 1e-2; }

void expect_near(const Array& actual, const std::vector<double>& expected, Type type,
                 const char* what) {
  ASSERT_EQ(actual.size(), static_cast<int64_t>(expected.size())) << what;
  for (int64_t i = 0; i < actual.size(); ++i) {
    const double e = expected[static_cast<size_t>(i)];
    ASSERT_NEAR(actual[i], e, tolerance(type) * (1 + std::abs(e))) << what << ", element " << i;
  }
}

void on_three_threads(int64_t count, int64_t /*grain*/, const LoopBody& body) {
  std::vector<std::thread> threads;
  for (int64_t i = 0; i < 3; ++i) {
    threads.emplace_back([&, i] { body(count * i / 3, count * (i + 1) / 3); });
  }
  for (std::thread& thread : threads) thread.join();
}

// The arrays of one call, and the results of the formulas.
struct Case : oracle::Case {
  Array x, taps, dy;

  Case(const ConvShape& s, std::vector<int64_t> row_lengths)
      : oracle::Case{s, std::move(row_lengths)},
        x(inputs(), s.type),
        taps(s.heads * s.kernel, Type::Fp32),
        dy(activations(), s.type) {
    x.randomise(1);
    taps.randomise(2);
    dy.randomise(3);
    poison_padding();
  }

  void poison_padding() {
    const int64_t width = shape.channels * (shape.glu ? 2 : 1);
    for (int64_t i = 0; i < x.size(); ++i) {
      const int64_t row = i / width;
      if (!real(row / shape.time, row % shape.time)) {
        x.set(i, i % 2 == 0 ? kNan : std::numeric_limits<float>::infinity());
      }
    }
  }
  oracle::Numbers expected_y() const {
    return oracle::forward(*this, x.numbers(), taps.numbers()).value;
  }
  oracle::Gradients expected_gradients() const {
    return oracle::backward(*this, x.numbers(), taps.numbers(), dy.numbers());
  }

  const int64_t* lengths_pointer() const { return lengths.empty() ? nullptr : lengths.data(); }
  ConvForward forward_arrays(void* y) {
    return {.x = x.data(),
            .taps = static_cast<float*>(taps.data()),
            .lengths = lengths_pointer(),
            .y = y};
  }
  ConvBackward backward_arrays(void* dx, void* dtaps) {
    return {.x = x.data(),
            .taps = static_cast<float*>(taps.data()),
            .lengths = lengths_pointer(),
            .dy = dy.data(),
            .dx = dx,
            .dtaps = static_cast<float*>(dtaps)};
  }
  Array forward(const CpuRun& run = {}) {
    Array y(dy.size(), shape.type);
    conv_forward_cpu(shape, forward_arrays(y.data()), run);
    return y;
  }
  struct Gradients {
    Array dx, dtaps;
  };
  Gradients backward(const CpuRun& run = {}) {
    Gradients d{Array(x.size(), shape.type), Array(taps.size(), Type::Fp32)};
    conv_backward_cpu(shape, backward_arrays(d.dx.data(), d.dtaps.data()), run);
    return d;
  }
};

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const Type type : {Type::Fp32, Type::Bf16}) {
    for (const bool glu : {false, true}) {
      const auto add = [&](int64_t time, int64_t channels, int64_t heads, int64_t kernel,
                           int64_t dilation, int64_t left) {
        const ConvShape shape{.type = type,
                              .batch = 3,
                              .time = time,
                              .channels = channels,
                              .heads = heads,
                              .kernel = kernel,
                              .dilation = dilation,
                              .left = left,
                              .glu = glu};
        all.emplace_back(shape, std::vector<int64_t>{});
        all.emplace_back(shape, std::vector<int64_t>{0, 1, time});
        all.emplace_back(shape, std::vector<int64_t>{time / 2, time + 5, time - 1});
      };
      add(1, 1, 1, 7, 1, 3);
      add(5, 3, 3, 15, 1, 14);
      add(70, 5, 1, 4, 1, 2);
      add(33, 12, 4, 1, 1, 0);
      add(150, 21, 7, 2, 3, 1);  // reads positions between the dilated ones
      add(75, 96, 12, 8, 1, 0);
      add(40, 40, 2, 23, 2, 22);
      add(70, 64, 2, 7, 1, 3);  // heads of whole blocks of vectors
      add(23, 48, 3, 15, 2, 28);
      add(37, 32, 1, 33, 1, 16);
    }
  }
  return all;
}

}  // namespace

TEST(ConvCpu, EveryLevelEqualsTheFormulaWhateverPaddingHolds) {
  for (Case& each : cases()) {
    const auto y = each.expected_y();
    const auto [dx, dtaps] = each.expected_gradients();
    for (const CpuLevel level : cpu_levels()) {
      expect_near(each.forward({.level = level}), y, each.shape.type, "y");
      const auto d = each.backward({.level = level});
      expect_near(d.dx, dx.value, each.shape.type, "dx");
      expect_near(d.dtaps, dtaps.value, Type::Fp32, "dtaps");
    }
  }
}

TEST(ConvCpu, ThreadsChangeNoBit) {
  for (Case& each : cases()) {
    EXPECT_TRUE(each.forward().same_bits(each.forward({.parallel = on_three_threads})));
    const auto alone = each.backward(), shared = each.backward({.parallel = on_three_threads});
    EXPECT_TRUE(alone.dx.same_bits(shared.dx));
    EXPECT_TRUE(alone.dtaps.same_bits(shared.dtaps));
  }
}

// Large outputs that begin at a cache line are written with non-temporal stores on x86; on Arm
// their lines are zeroed first, if 16 channels share their taps. Others are stored plainly.
TEST(ConvCpu, WaysToWriteCacheLinesChangeNoBit) {
  struct Shape {
    int64_t channels, dilation;
  };
  for (const Type type : {Type::Fp32, Type::Bf16}) {
    // 24: values and gates share a line
    for (const Shape& lines : {Shape{96, 1}, {24, 1}, {192, 1}, {192, 3}}) {
      for (const bool glu : {false, true}) {
        const int64_t time = 1001;
        const int64_t batch = kStreamedBytes / (time * lines.channels * size_of(type)) + 1;
        Case each({.type = type,
                   .batch = batch,
                   .time = time,
                   .channels = lines.channels,
                   .heads = 12,
                   .kernel = 7,
                   .dilation = lines.dilation,
                   .left = 3 * lines.dilation,
                   .glu = glu},
                  std::vector<int64_t>(static_cast<size_t>(batch), time - 3));
        const auto same = [&](int64_t size, const auto& write) {
          Placed streamed(size, type, 0), stored(size, type, 4);
          write(streamed.data());
          write(stored.data());
          EXPECT_TRUE(streamed.same_bits(stored))
              << lines.channels << " channels, dilation " << lines.dilation << ", gate " << glu;
        };
        for (const CpuLevel level : cpu_levels()) {
          const CpuRun run{.parallel = on_three_threads, .level = level};
          same(each.dy.size(),
               [&](void* y) { conv_forward_cpu(each.shape, each.forward_arrays(y), run); });
          same(each.x.size(), [&](void* dx) {
            conv_backward_cpu(each.shape, each.backward_arrays(dx, nullptr), run);
          });
          if (!glu) continue;
          same(each.dy.size(),
               [&](void* y) { glu_forward_cpu(each.shape, each.forward_arrays(y), run); });
          same(each.x.size(), [&](void* dx) {
            glu_backward_cpu(each.shape, each.backward_arrays(dx, nullptr), run);
          });
        }
      }
    }
  }
}

TEST(ConvCpu, GradientsThatAreNotNeededMayBeNull) {
  Case each({.batch = 2, .time = 20, .channels = 12, .heads = 3, .kernel = 3, .left = 1}, {});
  const auto both = each.backward();
  Array dx(each.x.size(), Type::Fp32), dtaps(each.taps.size(), Type::Fp32);
  ConvBackward arrays{.x = each.x.data(),
                      .taps = static_cast<float*>(each.taps.data()),
                      .dy = each.dy.data(),
                      .dx = dx.data()};
  conv_backward_cpu(each.shape, arrays);
  EXPECT_TRUE(dx.same_bits(both.dx));
  arrays.dx = nullptr;
  arrays.dtaps = static_cast<float*>(dtaps.data());
  conv_backward_cpu(each.shape, arrays);
  EXPECT_TRUE(dtaps.same_bits(both.dtaps));
}

TEST(ConvCpu, EmptyInputGivesZeroTapGradients) {
  Case each({.batch = 0, .time = 4, .channels = 6, .heads = 2, .kernel = 3, .left = 1}, {});
  expect_near(each.backward().dtaps, std::vector<double>(6, 0.0), Type::Fp32, "dtaps");
}

TEST(ConvCpu, RoundsBf16ToTheNearestEven) {
  // One tap slightly over 1: products fall between two bf16 values.
  Case each({.type = Type::Bf16, .batch = 1, .time = 1, .channels = 4, .heads = 1}, {});
  for (const CpuLevel level : cpu_levels()) {
    const auto rounded = [&](float tap) {
      each.taps.set(0, tap);
      for (int64_t c = 0; c < 4; ++c) each.x.set(c, 1);
      return each.forward({.level = level})[2];
    };
    EXPECT_EQ(rounded(1 + 1.0F / 256), 1);               // a tie: rounded down to even
    EXPECT_EQ(rounded(1 + 3.0F / 256), 1 + 4.0 / 256);   // a tie: rounded up to even
    EXPECT_EQ(rounded(1 + 1.01F / 256), 1 + 2.0 / 256);  // above the tie
    EXPECT_TRUE(std::isnan(rounded(std::bit_cast<float>(0x7f800001U))));  // stays a NaN
    EXPECT_TRUE(std::isinf(rounded(std::numeric_limits<float>::infinity())));
  }
}

TEST(ConvCpu, RefusesWhatItCannotDo) {
  const ConvShape ragged{.batch = 1, .time = 1, .channels = 5, .heads = 2};
  EXPECT_THROW(conv_forward_cpu(ragged, {}), Error);
  const ConvShape outside{.batch = 1, .time = 1, .channels = 4, .heads = 2, .kernel = 3, .left = 3};
  EXPECT_THROW(conv_forward_cpu(outside, {}), Error);
}

TEST(GluCpu, EqualsTheFormulaEverywhere) {
  Case each({.batch = 1, .time = 3, .channels = 21, .heads = 1, .glu = true}, {2});
  for (const CpuLevel level : cpu_levels()) {
    for (const float gate : {-200.0F, -88.5F, -20.0F, -1e-3F, 0.0F, 0.5F, 17.0F, 88.5F, 200.0F}) {
      for (int64_t c = 0; c < 21; ++c) each.x.set(21 + c, gate);
      Array y(63, Type::Fp32), dx(126, Type::Fp32);
      glu_forward_cpu(each.shape,
                      {.x = each.x.data(), .lengths = each.lengths.data(), .y = y.data()},
                      {.level = level});
      glu_backward_cpu(each.shape,
                       {.x = each.x.data(),
                        .lengths = each.lengths.data(),
                        .dy = each.dy.data(),
                        .dx = dx.data()},
                       {.level = level});
      oracle::Sums dy(63);
      dy.value = each.dy.numbers();
      expect_near(y, oracle::gated(each, each.x.numbers()), Type::Fp32, "y");
      expect_near(dx, oracle::ungated(each, each.x.numbers(), dy).value, Type::Fp32, "dx");
    }
  }
}

// In units in the last place of σ; a value of 1 makes the gated output σ itself. Without fused
// multiply-adds there is one more rounding per term.
TEST(GluCpu, TheSigmoidIsWithinThreeUnitsInTheLastPlace) {
  constexpr int64_t kChannels = 20'000;
  const ConvShape shape{.batch = 1, .time = 1, .channels = kChannels, .heads = 1, .glu = true};
  Array x(2 * kChannels, Type::Fp32), y(kChannels, Type::Fp32);
  for (int64_t c = 0; c < kChannels; ++c) {
    x.set(c, 1);
    x.set(kChannels + c, -86.0F + static_cast<float>(c) * (172.0F / kChannels));
  }
  for (const CpuLevel level : cpu_levels()) {
    glu_forward_cpu(shape, {.x = x.data(), .y = y.data()}, {.level = level});
    double worst = 0;
    for (int64_t c = 0; c < kChannels; ++c) {
      const double exact = oracle::sigmoid(x[kChannels + c]);
      const auto nearest = static_cast<float>(exact);
      const double unit = static_cast<double>(std::nextafter(nearest, 2.0F)) - nearest;
      worst = std::max(worst, std::abs(y[c] - exact) / unit);
    }
    EXPECT_LE(worst, 3) << cpu_level_name(level);
  }
}

TEST(GluCpu, InfiniteGatesAreOpenOrShutAndNanStaysNan) {
  const float infinite = std::numeric_limits<float>::infinity();
  const ConvShape shape{.batch = 1, .time = 1, .channels = 37, .heads = 1, .glu = true};
  Array x(74, Type::Fp32), y(37, Type::Fp32);
  for (const CpuLevel level : cpu_levels()) {
    for (const float gate : {infinite, -infinite, std::nanf("")}) {
      for (int64_t c = 0; c < 37; ++c) x.set(c, 2), x.set(37 + c, gate);
      glu_forward_cpu(shape, {.x = x.data(), .y = y.data()}, {.level = level});
      for (int64_t c = 0; c < 37; ++c) {
        if (std::isnan(gate)) {
          EXPECT_TRUE(std::isnan(y[c])) << cpu_level_name(level) << " " << c;
        } else {
          EXPECT_NEAR(y[c], gate > 0 ? 2 : 0, 1e-30) << cpu_level_name(level) << " " << c;
        }
      }
    }
  }
}

TEST(DynamicConvCpu, TheSameTapsEverywhereAreStaticOnes) {
  for (Case& each : cases()) {
    if (each.shape.glu || !each.lengths.empty()) continue;
    const ConvShape& s = each.shape;
    Array everywhere(s.batch * s.time * each.taps.size(), Type::Fp32);
    for (int64_t i = 0; i < everywhere.size(); ++i) {
      everywhere.set(i, static_cast<float>(each.taps[i % each.taps.size()]));
    }
    const oracle::Gradients expected = each.expected_gradients();
    for (const CpuLevel level : cpu_levels()) {
      const DynamicTaps taps{.values = everywhere.data(), .softmax = false};
      Array y(each.dy.size(), s.type), dx(each.x.size(), s.type);
      Array dtaps(everywhere.size(), Type::Fp32);
      dynamic_conv_forward_cpu(s, {.x = each.x.data(), .taps = taps, .y = y.data()},
                               {.level = level});
      dynamic_conv_backward_cpu(s,
                                {.x = each.x.data(),
                                 .taps = taps,
                                 .dy = each.dy.data(),
                                 .dx = dx.data(),
                                 .dtaps = dtaps.data()},
                                {.parallel = on_three_threads, .level = level});
      expect_near(y, each.expected_y(), s.type, "y");
      expect_near(dx, expected.dx.value, s.type, "dx");
      Array sum(each.taps.size(), Type::Fp32);
      for (int64_t i = 0; i < sum.size(); ++i) {
        double total = 0;
        for (int64_t n = i; n < dtaps.size(); n += sum.size()) total += dtaps[n];
        sum.set(i, static_cast<float>(total));
      }
      expect_near(sum, expected.dtaps.value, Type::Fp32, "dtaps");
    }
  }
}

TEST(ConvStepCpu, StepsEqualTheWholeSequence) {
  for (Case& each : cases()) {
    ConvShape step = each.shape;
    const int64_t reach = (step.kernel - 1) * step.dilation, row = step.channels;
    if (step.glu || !each.lengths.empty() || step.left != reach) continue;
    const auto expected = each.expected_y();
    step.time = 1;
    for (const CpuLevel level : cpu_levels()) {
      Array ring(step.batch * reach * row, step.type), all(each.dy.size(), step.type);
      for (int64_t i = 0; i < ring.size(); ++i) ring.set(i, 0);
      for (int64_t t = 0; t < each.shape.time; ++t) {
        Array x(step.batch * row, step.type), y(step.batch * row, step.type);
        const auto at = [&](int64_t i) { return (i / row * each.shape.time + t) * row + i % row; };
        for (int64_t i = 0; i < x.size(); ++i) x.set(i, static_cast<float>(each.x[at(i)]));
        conv_step_cpu(step,
                      {.x = x.data(),
                       .static_taps = static_cast<float*>(each.taps.data()),
                       .position = t,
                       .ring = ring.data(),
                       .y = y.data()},
                      {.level = level});
        for (int64_t i = 0; i < y.size(); ++i) all.set(at(i), static_cast<float>(y[i]));
      }
      expect_near(all, expected, step.type, "y");
    }
  }
}

}  // namespace convseq::kernels
