#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

#include "convseq/base/error.h"
#include "kernels/conv_oracle.h"
#include "kernels/device_array.h"

namespace convseq::kernels {
namespace {

using oracle::Case;
using oracle::Numbers;
using oracle::Sums;

std::string name_of(const Case& test) {
  const ConvShape& shape = test.shape;
  return fmt::format("{} B{} T{} C{} H{} k{} dilation {} left {}{}{}",
                     shape.type == Type::Bf16 ? "bf16" : "fp32", shape.batch, shape.time,
                     shape.channels, shape.heads, shape.kernel, shape.dilation, shape.left,
                     shape.glu ? " glu" : "", test.lengths.empty() ? "" : " padded");
}

// fp32 sums in another order, and in bf16 one rounding of the result and of the gated input.
double tolerance_of(Type type) { return type == Type::Bf16 ? 1.0 / 128 : 2e-5; }

void expect_close(const DeviceArray& got, const Sums& expected, double tolerance,
                  const char* what) {
  const auto values = got.values();
  ASSERT_EQ(values.size(), expected.value.size()) << what;
  for (size_t i = 0; i < values.size(); ++i) {
    const double error = std::abs(values[i] - expected.value[i]);
    ASSERT_LE(error, tolerance * expected.magnitude[i] + 1e-30)  // NaN is not less or equal
        << what << '[' << i << "] is " << values[i] << ", not " << expected.value[i];
  }
}

// Runs twice on outputs filled with NaN and expects the same bits.
template <class Run>
void expect_repeatable(std::initializer_list<DeviceArray*> outputs, Run run) {
  std::vector<std::vector<uint8_t>> first;
  run();
  check(cudaDeviceSynchronize());
  for (DeviceArray* each : outputs) first.push_back(each->raw());
  for (DeviceArray* each : outputs) each->poison();
  run();
  check(cudaDeviceSynchronize());
  size_t n = 0;
  for (DeviceArray* each : outputs) EXPECT_EQ(each->raw(), first[n++]) << "output " << n;
}

// Padding holds NaN, which must not reach any result.
void spoil_padding(const Case& test, Numbers& x) {
  const int64_t width = test.shape.channels * (test.shape.glu ? 2 : 1);
  for (int64_t row = 0; row < test.shape.batch * test.shape.time; ++row) {
    if (test.real(row / test.shape.time, row % test.shape.time)) continue;
    for (int64_t c = 0; c < width; ++c) {
      x[static_cast<size_t>(row * width + c)] = c % 2 == 0
                                                    ? std::numeric_limits<double>::quiet_NaN()
                                                    : std::numeric_limits<double>::infinity();
    }
  }
}

void check_conv_case(const Case& test) {
  SCOPED_TRACE(name_of(test));
  std::mt19937 random(7);
  const ConvShape& shape = test.shape;
  auto x = random_numbers(test.inputs(), shape.type, random);
  const auto taps = random_numbers(shape.heads * shape.kernel, Type::Fp32, random);
  const auto dy = random_numbers(test.activations(), shape.type, random);
  spoil_padding(test, x);
  const DeviceArray device_x(shape.type, x), device_taps(Type::Fp32, taps),
      device_dy(shape.type, dy);
  const DeviceLengths lengths(test.lengths);

  DeviceArray y(shape.type, dy.size());
  expect_repeatable({&y}, [&] {
    conv_forward_cuda(shape,
                      {.x = device_x.data(),
                       .taps = device_taps.floats(),
                       .lengths = lengths.data(),
                       .y = y.data()},
                      nullptr);
  });
  expect_close(y, oracle::forward(test, x, taps), tolerance_of(shape.type), "y");

  DeviceArray dx(shape.type, x.size()), dtaps(Type::Fp32, taps.size());
  DeviceArray workspace(Type::Fp32, conv_backward_workspace_cuda(shape) / sizeof(float));
  expect_repeatable({&dx, &dtaps, &workspace}, [&] {
    conv_backward_cuda(shape,
                       {.x = device_x.data(),
                        .taps = device_taps.floats(),
                        .lengths = lengths.data(),
                        .dy = device_dy.data(),
                        .dx = dx.data(),
                        .dtaps = dtaps.floats(),
                        .workspace = workspace.data()},
                       nullptr);
  });
  const auto expected = oracle::backward(test, x, taps, dy);
  expect_close(dx, expected.dx, tolerance_of(shape.type), "dx");
  // The tensor-core kernels round gated inputs to bf16, as the reference does.
  expect_close(dtaps, expected.dtaps, shape.glu ? tolerance_of(shape.type) / 4 : 2e-5, "dtaps");
}

struct Sizes {
  int64_t batch, time, channels, heads, kernel, dilation;
  std::vector<int64_t> lengths;
};

// Both types, gated and not, with the taps centred and causal.
template <class Check>
void for_variants(const Sizes& sizes, std::initializer_list<bool> gates, Check check_case) {
  const int64_t reach = (sizes.kernel - 1) * sizes.dilation;
  for (const Type type : {Type::Fp32, Type::Bf16}) {
    for (const bool glu : gates) {
      for (const int64_t left : {((sizes.kernel + 2) / 2 - 1) * sizes.dilation, reach}) {
        check_case(Case{{.type = type,
                         .batch = sizes.batch,
                         .time = sizes.time,
                         .channels = sizes.channels,
                         .heads = sizes.heads,
                         .kernel = sizes.kernel,
                         .dilation = sizes.dilation,
                         .left = left,
                         .glu = glu},
                        sizes.lengths});
      }
    }
  }
}

// Every kernel size with specialised code and some without; one, few, many channels; heads of one
// channel, of a strip, of several, of part of one; taps that reach past the sequence or the tile.
const std::vector<Sizes>& awkward_sizes() {
  static const std::vector<Sizes> sizes = {
      {1, 1, 1, 1, 1, 1, {}},
      {2, 1, 3, 3, 7, 1, {1, 0}},
      {3, 5, 12, 4, 9, 1, {5, 1, 0}},
      {3, 17, 1, 1, 4, 2, {17, 9, 0}},
      {2, 33, 3, 1, 5, 3, {33, 20}},
      {2, 40, 8, 2, 3, 1, {40, 0}},
      {3, 70, 96, 12, 7, 1, {70, 33, 1}},
      {2, 131, 96, 96, 15, 1, {131, 77}},
      {2, 260, 64, 1, 31, 1, {260, 100}},
      {2, 300, 128, 1, 7, 1, {300, 128}},
      {2, 70, 128, 2, 4, 1, {}},
      {2, 70, 128, 128, 31, 2, {70, 69}},
      {2, 150, 64, 1, 15, 2, {150, 3}},
      {1, 200, 64, 64, 255, 1, {}},
      {1, 300, 64, 1, 255, 1, {290}},
      {1, 90, 5, 5, 255, 3, {90}},
      {2, 100, 24, 24, 9, 3, {100, 40}},
      {2, 129, 72, 9, 13, 1, {129, 64}},
      {2, 100, 128, 2, 6, 3, {99, 2}},
      {1, 1500, 8, 8, 9, 128, {1400}},
      {1, 64, 768, 12, 7, 1, {60}},
      {1, 64, 768, 768, 5, 1, {60}},
      {1, 64, 768, 12, 21, 2, {60}},
      {4, 9, 64, 1, 3, 1, {0, 0, 0, 0}},
      {2, 200, 64, 1, 17, 3, {200, 17}},
      {2, 90, 128, 1, 33, 1, {81, 90}},
      {2, 600, 64, 1, 1, 1, {600, 513}},
      {1, 700, 64, 1, 3, 66, {650}},
      {2, 257, 40, 40, 10, 1, {}},
      {1, 530, 72, 72, 33, 1, {520}},
      {1, 100, 64, 64, 34, 1, {90}},
      {2, 20, 48, 48, 31, 1, {20, 7}},
      {1, 300, 104, 104, 17, 2, {290}},
      {2, 270, 32, 8, 25, 4, {270, 133}},
      {1, 256, 768, 768, 7, 1, {}},
      {2, 1, 8, 8, 7, 1, {}},
      {2, 5, 24, 24, 7, 1, {5, 3}},
      {1, 6, 72, 72, 7, 1, {}},
      {2, 7, 768, 768, 3, 1, {6, 7}},
      {1, 8, 24, 24, 5, 1, {}},
      {3, 33, 72, 9, 8, 1, {33, 2, 0}},
      {1, 1000, 136, 136, 9, 1, {999}},
      {2, 300, 264, 264, 6, 2, {300, 150}},
  };
  return sizes;
}

TEST(GpuConvKernel, EqualsTheFormulaInDoublePrecision) {
  for (const Sizes& sizes : awkward_sizes()) for_variants(sizes, {false, true}, check_conv_case);
}

// Enough sequences for blocks that advance over several chunks; with fewer, blocks have one chunk.
Case many_chunks_case(int64_t kernel, bool glu) {
  return {{.type = Type::Bf16,
           .batch = 128,
           .time = 300,
           .channels = 128,
           .heads = 2,
           .kernel = kernel,
           .left = kernel / 2,
           .glu = glu},
          {}};
}

TEST(GpuConvKernel, EqualsTheFormulaWhereBlocksHaveSeveralChunks) {
  for (const int64_t kernel : {7, 31}) {
    for (const bool glu : {false, true}) check_conv_case(many_chunks_case(kernel, glu));
  }
}

// Enough sequences that one block computes several of them, and the last block fewer.
TEST(GpuConvKernel, EqualsTheFormulaWhereBlocksHaveSeveralSequences) {
  for (const int64_t kernel : {3, 7, 9, 15, 31}) {
    for (const bool glu : {false, true}) {
      check_conv_case({{.type = Type::Bf16,
                        .batch = 2051,
                        .time = 11,
                        .channels = 40,
                        .heads = 40,
                        .kernel = kernel,
                        .left = kernel / 2,
                        .glu = glu},
                       {}});
    }
  }
}

// The taps of one channel do not reach another channel, whatever it holds.
TEST(GpuConvKernel, KeepsDepthwiseChannelsApart) {
  const ConvShape shape{.type = Type::Bf16,
                        .batch = 2,
                        .time = 70,
                        .channels = 64,
                        .heads = 64,
                        .kernel = 7,
                        .left = 3};
  std::mt19937 random(7);
  auto x = random_numbers(2 * 70 * 64, shape.type, random);
  const auto taps = random_numbers(64 * 7, Type::Fp32, random);
  const DeviceArray device_taps(Type::Fp32, taps);
  const auto run = [&] {
    const DeviceArray device_x(shape.type, x);
    DeviceArray y(shape.type, x.size());
    conv_forward_cuda(shape, {.x = device_x.data(), .taps = device_taps.floats(), .y = y.data()},
                      nullptr);
    return y.values();
  };
  const auto expected = run();
  for (size_t i = 5; i < x.size(); i += 64) x[i] = std::numeric_limits<double>::quiet_NaN();
  const auto actual = run();
  for (size_t i = 0; i < x.size(); ++i) {
    if (i % 64 != 5) {
      ASSERT_EQ(actual[i], expected[i]) << i;
    }
  }
}

TEST(GpuConvKernel, TakesArraysThatAreNotAligned) {
  const ConvShape shape{.type = Type::Bf16,
                        .batch = 1,
                        .time = 20,
                        .channels = 8,
                        .heads = 8,
                        .kernel = 3,
                        .left = 1};
  std::mt19937 random(7);
  auto x = random_numbers(161, shape.type, random);
  const auto taps = random_numbers(24, Type::Fp32, random);
  const DeviceArray device_x(shape.type, x), device_taps(Type::Fp32, taps);
  DeviceArray y(shape.type, 160);
  const auto* second = static_cast<const uint16_t*>(device_x.data()) + 1;
  conv_forward_cuda(shape, {.x = second, .taps = device_taps.floats(), .y = y.data()}, nullptr);
  x.erase(x.begin());
  expect_close(y, oracle::forward({shape, {}}, x, taps), tolerance_of(shape.type), "y");
}

TEST(GpuConvKernel, RefusesByNameWhatItCannotDo) {
  const ConvShape good{.batch = 1, .time = 4, .channels = 6, .heads = 3, .kernel = 3};
  const auto message = [&](auto change) -> std::string {
    ConvShape shape = good;
    change(shape);
    try {
      conv_forward_cuda(shape, {}, nullptr);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(message([](ConvShape& shape) { shape.kernel = 256; }),
            "conv_forward: kernel is 256; must be in 1..255");
  EXPECT_EQ(message([](ConvShape& shape) { shape.heads = 4; }),
            "conv_forward: 6 channels are not divisible by 4 heads");
  EXPECT_EQ(message([](ConvShape& shape) { shape.left = 3; }),
            "conv_forward: left is 3; must be in 0..2, the reach of the taps");
}

TEST(GpuGluKernel, EqualsTheFormulaInDoublePrecision) {
  for (const Sizes& sizes : awkward_sizes()) {
    for_variants(
        {sizes.batch, sizes.time, sizes.channels, 1, 1, 1, sizes.lengths}, {true},
        [](const Case& test) {
          SCOPED_TRACE(name_of(test));
          std::mt19937 random(7);
          const ConvShape& shape = test.shape;
          auto x = random_numbers(test.inputs(), shape.type, random);
          const auto dy = random_numbers(test.activations(), shape.type, random);
          spoil_padding(test, x);
          const DeviceArray device_x(shape.type, x), device_dy(shape.type, dy);
          const DeviceLengths lengths(test.lengths);
          DeviceArray y(shape.type, dy.size()), dx(shape.type, x.size());
          expect_repeatable({&y, &dx}, [&] {
            glu_forward_cuda(
                shape, {.x = device_x.data(), .lengths = lengths.data(), .y = y.data()}, nullptr);
            glu_backward_cuda(shape,
                              {.x = device_x.data(),
                               .lengths = lengths.data(),
                               .dy = device_dy.data(),
                               .dx = dx.data()},
                              nullptr);
          });
          const Numbers one{1};
          expect_close(y, oracle::forward(test, x, one), tolerance_of(shape.type), "y");
          expect_close(dx, oracle::backward(test, x, one, dy).dx, tolerance_of(shape.type), "dx");
        });
  }
}

void check_dynamic_case(const Case& test, Type tap_type, bool softmax) {
  SCOPED_TRACE(name_of(test) + (softmax ? " softmax" : " raw") +
               (tap_type == Type::Bf16 ? " bf16 taps" : " fp32 taps"));
  std::mt19937 random(7);
  const ConvShape& shape = test.shape;
  const auto x = random_numbers(test.activations(), shape.type, random);
  const auto dy = random_numbers(test.activations(), shape.type, random);
  const auto values =
      random_numbers(shape.batch * shape.time * shape.heads * shape.kernel, tap_type, random);
  const auto taps = softmax ? oracle::softmax(values, shape.kernel) : values;
  const DeviceArray device_x(shape.type, x), device_dy(shape.type, dy),
      device_taps(tap_type, values);
  const DynamicTaps given{.values = device_taps.data(), .type = tap_type, .softmax = softmax};

  DeviceArray y(shape.type, x.size());
  expect_repeatable({&y}, [&] {
    dynamic_conv_forward_cuda(shape, {.x = device_x.data(), .taps = given, .y = y.data()}, nullptr);
  });
  expect_close(y, oracle::dynamic_forward(test, x, taps), tolerance_of(shape.type), "y");

  DeviceArray dx(shape.type, x.size()), dtaps(tap_type, taps.size());
  expect_repeatable({&dx, &dtaps}, [&] {
    dynamic_conv_backward_cuda(shape,
                               {.x = device_x.data(),
                                .taps = given,
                                .dy = device_dy.data(),
                                .dx = dx.data(),
                                .dtaps = dtaps.data()},
                               nullptr);
  });
  const auto expected = oracle::dynamic_backward(test, x, taps, dy);
  expect_close(dx, expected.dx, tolerance_of(shape.type), "dx");
  expect_close(
      dtaps,
      softmax ? oracle::softmax_gradient(taps, expected.dtaps, shape.kernel) : expected.dtaps,
      tolerance_of(tap_type), "dtaps");
}

void check_dynamic_sizes(Sizes sizes) {
  sizes.lengths.clear();
  for_variants(sizes, {false}, [](const Case& test) {
    for (const Type tap_type : {Type::Fp32, Type::Bf16}) {
      for (const bool softmax : {false, true}) check_dynamic_case(test, tap_type, softmax);
    }
  });
}

TEST(GpuDynamicConvKernel, EqualsTheFormulaInDoublePrecision) {
  for (const Sizes& sizes : awkward_sizes()) check_dynamic_sizes(sizes);
}

TEST(GpuDynamicConvKernel, EqualsTheFormulaWhereBlocksHaveSeveralChunks) {
  for (const int64_t kernel : {7, 31}) {
    check_dynamic_case(many_chunks_case(kernel, /*glu=*/false), Type::Bf16, /*softmax=*/true);
  }
}

TEST(GpuDynamicConvKernel, EqualsTheFormulaForHeadsOf64Channels) {
  for (const int64_t kernel : {3, 5, 7, 9, 15, 31}) {
    check_dynamic_sizes({2, 130, 128, 2, kernel, 1, {}});
    check_dynamic_sizes({3, 2, 64, 1, kernel, 1, {}});
  }
  check_dynamic_sizes({1, 600, 64, 1, 7, 1, {}});
}

// A sequence fed one position at a time equals the causal convolution of all of it.
void check_step_case(const Case& test, bool dynamic, bool softmax) {
  SCOPED_TRACE(name_of(test) + (dynamic ? " dynamic" : ""));
  std::mt19937 random(7);
  const ConvShape& shape = test.shape;
  const int64_t sets = dynamic ? shape.batch * shape.time * shape.heads : shape.heads;
  const Type tap_type = dynamic ? shape.type : Type::Fp32;
  const auto x = random_numbers(test.activations(), shape.type, random);
  const auto values = random_numbers(sets * shape.kernel, tap_type, random);
  const auto taps = softmax ? oracle::softmax(values, shape.kernel) : values;
  const Sums expected =
      dynamic ? oracle::dynamic_forward(test, x, taps) : oracle::forward(test, x, taps);
  const DeviceArray static_taps(tap_type, values);
  const auto slots = static_cast<size_t>((shape.kernel - 1) * shape.dilation);
  DeviceArray ring(shape.type, static_cast<size_t>(shape.batch * shape.channels) * slots);
  // Only position t of every row, of an array with `width` values per position.
  const auto at_time = [&](const Numbers& all, int64_t width, int64_t t) {
    Numbers made;
    for (int64_t b = 0; b < shape.batch; ++b) {
      const auto from = all.begin() + (b * shape.time + t) * width;
      made.insert(made.end(), from, from + width);
    }
    return made;
  };
  for (int64_t t = 0; t < shape.time; ++t) {
    const DeviceArray now(shape.type, at_time(x, shape.channels, t));
    const DeviceArray dynamic_taps(
        tap_type, dynamic ? at_time(values, shape.heads * shape.kernel, t) : Numbers{0});
    DeviceArray y(shape.type, static_cast<size_t>(shape.batch * shape.channels));
    ConvShape step = shape;
    step.time = 1;
    conv_step_cuda(
        step,
        {.x = now.data(),
         .static_taps = dynamic ? nullptr : static_taps.floats(),
         .dynamic_taps = {.values = dynamic_taps.data(), .type = tap_type, .softmax = softmax},
         .position = t,
         .ring = slots == 0 ? nullptr : ring.data(),
         .y = y.data()},
        nullptr);
    Sums expected_now(0);
    expected_now.value = at_time(expected.value, shape.channels, t);
    expected_now.magnitude = at_time(expected.magnitude, shape.channels, t);
    expect_close(y, expected_now, tolerance_of(shape.type), "y");
  }
}

TEST(GpuConvStepKernel, FedOneByOneEqualsTheWholeSequence) {
  for (const Sizes& sizes : {Sizes{2, 20, 12, 4, 7, 1, {}}, Sizes{1, 9, 1, 1, 1, 1, {}},
                             Sizes{3, 30, 96, 96, 4, 3, {}}, Sizes{2, 12, 768, 12, 31, 1, {}}}) {
    for (const Type type : {Type::Fp32, Type::Bf16}) {
      const Case test{{.type = type,
                       .batch = sizes.batch,
                       .time = sizes.time,
                       .channels = sizes.channels,
                       .heads = sizes.heads,
                       .kernel = sizes.kernel,
                       .dilation = sizes.dilation,
                       .left = (sizes.kernel - 1) * sizes.dilation},
                      {}};
      check_step_case(test, false, false);
      check_step_case(test, true, false);
      check_step_case(test, true, true);
    }
  }
}

}  // namespace
}  // namespace convseq::kernels
