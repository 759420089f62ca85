#include <atomic>
#include <limits>
#include <mutex>
#include <set>
#include <thread>

#include "convseq/base/error.h"
#include "convseq/ops/conv.h"
#include "convseq/ops/kernel/torch_threads.h"
#include "convseq/ops/reference/conv.h"
#include "temp_folder.h"
#include "tensor_checks.h"

// Compares the ops that have kernels, and their gradients, with the reference in float64.
namespace convseq::ops {
using convseq::testing::message_of;
using convseq::testing::random_tensor;

namespace {

struct Shape {
  int64_t time, channels, heads, kernel;
  ConvGeometry geometry;

  Shape(int64_t t, int64_t c, int64_t h, int64_t k, int64_t dilation = 1,
        Alignment alignment = Alignment::Centred)
      : time(t), channels(c), heads(h), kernel(k), geometry{k, dilation, alignment} {}
};

constexpr int64_t kBatch = 3;

std::vector<Shape> shapes() {
  constexpr auto kCausal = Alignment::Causal;
  return {{1, 1, 1, 1},
          {1, 5, 1, 7, 1, kCausal},
          {5, 3, 3, 15},
          {9, 12, 4, 4, 1, kCausal},
          {20, 5, 5, 255},
          {300, 12, 3, 255, 1, kCausal},
          {40, 12, 12, 6, 3},
          {150, 96, 12, 7},
          {70, 96, 1, 31, 3, kCausal},
          {300, 96, 96, 3},
          {65, 33, 11, 8, 2}};
}

std::vector<Lengths> lengths_of(const Shape& shape) {
  return {{}, {torch::tensor({int64_t{0}, int64_t{1}, shape.time})}};
}

// An op as a function of its differentiable inputs.
struct Op {
  std::string name;
  std::vector<torch::Tensor> inputs;  // float64, to be converted
  std::function<torch::Tensor(const std::vector<torch::Tensor>&, const Lengths&)> run;
};

std::vector<Op> ops_of(const Shape& s) {
  const auto normal = [&](int64_t width) {
    return random_tensor({kBatch, s.time, width}, torch::kFloat64);
  };
  const auto taps = random_tensor({s.heads, s.kernel}, torch::kFloat64);
  const auto g = s.geometry;
  return {{"conv",
           {normal(s.channels), taps},
           [g](auto& in, auto& lengths) { return conv(in[0], in[1], lengths, g); }},
          {"glu_conv",
           {normal(2 * s.channels), taps},
           [g](auto& in, auto& lengths) { return glu_conv(in[0], in[1], lengths, g); }},
          {"glu",
           {normal(2 * s.channels)},
           [](auto& in, auto& lengths) { return glu(in[0], lengths); }},
          {"dynamic_conv",
           {normal(s.channels), normal(s.heads * s.kernel)},
           [g](auto& in, auto&) { return dynamic_conv(in[0], in[1], {}, g); }},
          {"dynamic_conv, raw taps",
           {normal(s.channels), normal(s.heads * s.kernel)},
           [g](auto& in, auto&) { return dynamic_conv(in[0], in[1], {.softmax = false}, g); }}};
}

// The output and all gradients of an op for inputs of the given type and device.
std::vector<torch::Tensor> results(const Op& op, const std::vector<torch::Tensor>& values,
                                   const Lengths& lengths, const torch::TensorOptions& options) {
  std::vector<torch::Tensor> inputs;
  for (const auto& value : values) {
    inputs.push_back(value.detach().to(options).clone().requires_grad_());
  }
  Lengths there = lengths;
  if (!lengths.all_full()) there.values = lengths.values.to(inputs[0].device());
  const auto y = op.run(inputs, there);
  const auto weights = torch::linspace(-1, 1, y.numel(), torch::kFloat32).view(y.sizes());
  auto all = torch::autograd::grad({y}, inputs, {weights.to(torch::kBFloat16).to(y.options())});
  all.insert(all.begin(), y.detach());
  for (auto& tensor : all) tensor = tensor.cpu();
  return all;
}

std::vector<torch::Tensor> rounded(const std::vector<torch::Tensor>& values, torch::Dtype type) {
  std::vector<torch::Tensor> all;
  for (const auto& value : values) all.push_back(value.to(type).to(torch::kFloat64));
  return all;
}

// The error is relative to the largest value, since a sum near zero has the error of its terms.
void expect_near(const torch::Tensor& actual, const torch::Tensor& expected, double tolerance,
                 const std::string& what) {
  ASSERT_TRUE(actual.isfinite().all().item<bool>()) << what << ": not finite";
  const double error = (actual.to(torch::kFloat64) - expected).abs().max().item<double>();
  EXPECT_LE(error, tolerance * (1 + expected.abs().max().item<double>())) << what;
}

void expect_ops_equal_the_reference(torch::Device device) {
  for (const Shape& shape : shapes()) {
    for (const Op& op : ops_of(shape)) {
      for (const Lengths& lengths : lengths_of(shape)) {
        for (const auto type : {torch::kFloat32, torch::kBFloat16}) {
          const auto values = rounded(op.inputs, type);
          const auto expected = results(op, values, lengths, torch::kFloat64);
          const auto actual =
              results(op, values, lengths, torch::TensorOptions(device).dtype(type));
          for (size_t i = 0; i < expected.size(); ++i) {
            EXPECT_EQ(actual[i].scalar_type(), type);
            expect_near(actual[i], expected[i], type == torch::kFloat32 ? 5e-6 : 4e-3,
                        fmt::format("{} [{}, {}] H={} k={}: {}", op.name, shape.time,
                                    shape.channels, shape.heads, shape.kernel, i));
          }
        }
      }
    }
  }
}

void expect_same_bits(const std::vector<torch::Tensor>& a, const std::vector<torch::Tensor>& b,
                      const std::string& what) {
  for (size_t i = 0; i < a.size(); ++i) EXPECT_TRUE(torch::equal(a[i], b[i])) << what << ": " << i;
}

void expect_runs_repeat(torch::Device device, const std::function<void()>& between) {
  for (const Shape& shape : shapes()) {
    for (const Op& op : ops_of(shape)) {
      for (const auto type : {torch::kFloat32, torch::kBFloat16}) {
        const auto options = torch::TensorOptions(device).dtype(type);
        const auto once = results(op, op.inputs, {}, options);
        between();
        expect_same_bits(once, results(op, op.inputs, {}, options), op.name);
        at::set_num_threads(1);
      }
    }
  }
}

// Decodes one position per step without gradients, which the step kernel computes.
void expect_steps_equal_the_whole(torch::Device device) {
  const torch::NoGradGuard no_grad;
  for (const Shape& s : shapes()) {
    if (s.geometry.alignment != Alignment::Causal) continue;
    for (const auto type : {torch::kFloat32, torch::kBFloat16}) {
      const auto options = torch::TensorOptions(device).dtype(type);
      const auto x = random_tensor({kBatch, s.time, s.channels}).to(options);
      const auto logits = random_tensor({kBatch, s.time, s.heads * s.kernel}).to(options);
      const auto taps = random_tensor({s.heads, s.kernel}).to(device);
      const auto rows = torch::zeros({kBatch, s.geometry.reach(), s.channels}, options);
      ConvRing ring{rows.clone()}, dynamic_ring{rows.clone()};
      std::vector<torch::Tensor> steps, dynamic_steps;
      for (int64_t t = 0; t < s.time; ++t) {
        steps.push_back(conv_step(x.narrow(1, t, 1), taps, s.geometry, ring));
        dynamic_steps.push_back(dynamic_conv_step(x.narrow(1, t, 1), logits.narrow(1, t, 1), {},
                                                  s.geometry, dynamic_ring));
      }
      EXPECT_EQ(ring.position, s.time);
      const double tolerance = type == torch::kFloat32 ? 5e-6 : 8e-3;
      expect_near(torch::cat(steps, 1).cpu(),
                  conv(x, taps, {}, s.geometry).cpu().to(torch::kFloat64), tolerance, "conv_step");
      expect_near(torch::cat(dynamic_steps, 1).cpu(),
                  dynamic_conv(x, logits, {}, s.geometry).cpu().to(torch::kFloat64), tolerance,
                  "dynamic_conv_step");
    }
  }
}

// The same with the position of each row on the device, with and without a preceding GLU.
void expect_steps_at_positions_equal_the_whole(torch::Device device) {
  const torch::NoGradGuard no_grad;
  for (const Shape& s : shapes()) {
    if (s.geometry.alignment != Alignment::Causal) continue;
    for (const auto type : {torch::kFloat32, torch::kBFloat16}) {
      const auto options = torch::TensorOptions(device).dtype(type);
      const auto projected = random_tensor({kBatch, s.time, 2 * s.channels}).to(options);
      const auto logits = random_tensor({kBatch, s.time, s.heads * s.kernel}).to(options);
      const auto taps = random_tensor({s.heads, s.kernel}).to(device);
      const auto x = glu(projected, Lengths{});
      const auto positions = torch::zeros({kBatch}, options.dtype(torch::kInt64));
      // The ring buffer still holds an earlier sequence, which the steps must ignore.
      const auto rows = torch::ones({kBatch, s.geometry.reach(), s.channels}, options);
      ConvRing plain{rows.clone(), 0, positions}, gated{rows.clone(), 0, positions},
          dynamic{rows.clone(), 0, positions};
      std::vector<torch::Tensor> steps, gated_steps, dynamic_steps;
      for (int64_t t = 0; t < s.time; ++t) {
        const auto now = x.narrow(1, t, 1);
        steps.push_back(conv_step(now, taps, s.geometry, plain));
        gated_steps.push_back(
            glu_conv_step(projected.narrow(1, t, 1), taps, {}, s.geometry, gated));
        dynamic_steps.push_back(
            dynamic_conv_step(now, logits.narrow(1, t, 1), {}, s.geometry, dynamic));
        positions.add_(1);
      }
      EXPECT_EQ(plain.position, 0);
      const double tolerance = type == torch::kFloat32 ? 5e-6 : 8e-3;
      const auto expected = conv(x, taps, {}, s.geometry).cpu().to(torch::kFloat64);
      expect_near(torch::cat(steps, 1).cpu(), expected, tolerance, "conv_step");
      expect_near(torch::cat(gated_steps, 1).cpu(), expected, tolerance, "glu_conv_step");
      expect_near(torch::cat(dynamic_steps, 1).cpu(),
                  dynamic_conv(x, logits, {}, s.geometry).cpu().to(torch::kFloat64), tolerance,
                  "dynamic_conv_step");
    }
  }
}

// The same logits in rows with NaN padding, which must not be read.
torch::Tensor in_padded_rows(const torch::Tensor& logits, int64_t padding) {
  const int64_t width = logits.size(2);
  const auto rows = torch::full({logits.size(0), logits.size(1), width + padding},
                                std::numeric_limits<double>::quiet_NaN(), logits.options());
  rows.narrow(2, 0, width).copy_(logits);
  return rows.narrow(2, 0, width);
}

void expect_padded_logits_give_the_same_bits(torch::Device device) {
  auto all = shapes();
  for (const int64_t kernel : {7, 31}) all.push_back({130, 128, 2, kernel});
  for (const Shape& s : all) {
    for (const auto type : {torch::kFloat32, torch::kBFloat16}) {
      const auto options = torch::TensorOptions(device).dtype(type);
      const auto x = random_tensor({kBatch, s.time, s.channels}).to(options).requires_grad_();
      const auto gradient = random_tensor({kBatch, s.time, s.channels}).to(options);
      const auto logits = random_tensor({kBatch, s.time, s.heads * s.kernel}).to(options);
      const auto run = [&](const torch::Tensor& given) {
        const auto leaf = given.detach().requires_grad_();
        const auto y = dynamic_conv(x, leaf, {}, s.geometry);
        auto made = torch::autograd::grad({y}, {x, leaf}, {gradient});
        made.push_back(y.detach());
        return made;
      };
      const auto padded = in_padded_rows(logits, /*padding=*/5);
      const auto expected = run(logits), actual = run(padded);
      const auto what = fmt::format("[{}, {}] H={} k={}", s.time, s.channels, s.heads, s.kernel);
      expect_same_bits(actual, expected, what);
      EXPECT_EQ(actual[1].stride(s.time > 1 ? 1 : 0), padded.stride(s.time > 1 ? 1 : 0)) << what;
    }
  }
}

void expect_padded_logits_step_alike(torch::Device device) {
  const torch::NoGradGuard no_grad;
  const ConvGeometry geometry{.kernel = 7, .alignment = Alignment::Causal};
  const auto x = random_tensor({kBatch, 1, 12}).to(device);
  const auto logits = random_tensor({kBatch, 1, 21}).to(device);
  const auto step = [&](const torch::Tensor& given) {
    ConvRing ring{torch::ones({kBatch, geometry.reach(), 12}, x.options())};
    return dynamic_conv_step(x, given, {}, geometry, ring);
  };
  EXPECT_TRUE(torch::equal(step(in_padded_rows(logits, /*padding=*/3)), step(logits)));
}

void expect_tap_softmax_equals_float64(torch::Device device) {
  for (const auto& [heads, kernel] : {std::pair{1, 1}, {12, 7}, {5, 31}, {768, 15}, {3, 255}}) {
    for (const auto type : {torch::kFloat32, torch::kBFloat16}) {
      const auto logits = random_tensor({heads, kernel}).to(device, type).requires_grad_();
      const auto wide = logits.detach().cpu().to(torch::kFloat64).requires_grad_();
      const auto gradient = random_tensor({heads, kernel}, torch::kFloat32);
      const auto run = [](const torch::Tensor& taps, const torch::Tensor& of, const auto& dy) {
        return std::vector{taps.detach(), torch::autograd::grad({taps}, {of}, {dy})[0]};
      };
      const auto actual = run(tap_softmax(logits), logits, gradient.to(device));
      const auto expected = run(torch::softmax(wide, -1), wide, gradient.to(torch::kFloat64));
      EXPECT_EQ(actual[0].scalar_type(), torch::kFloat32);
      EXPECT_EQ(actual[1].scalar_type(), type);
      expect_near(actual[0].cpu(), expected[0], 1e-6, "taps");
      expect_near(actual[1].cpu(), expected[1], type == torch::kFloat32 ? 1e-6 : 8e-3, "logits");
    }
  }
}

}  // namespace

TEST(ConvKernels, EqualTheReferenceWithTheirGradients) {
  torch::manual_seed(1);
  expect_ops_equal_the_reference(torch::kCPU);
}

TEST(ConvKernels, TapSoftmaxEqualsFloat64) { expect_tap_softmax_equals_float64(torch::kCPU); }

TEST(ConvKernels, RepeatBitForBit) {
  expect_runs_repeat(torch::kCPU, [] {});
}

TEST(ConvKernels, GiveTheSameBitsOnTwoThreads) {
  at::set_num_threads(1);
  expect_runs_repeat(torch::kCPU, [] { at::set_num_threads(2); });
}

TEST(ConvKernels, StepsEqualTheWholeSequence) {
  torch::manual_seed(2);
  expect_steps_equal_the_whole(torch::kCPU);
  expect_steps_at_positions_equal_the_whole(torch::kCPU);
}

TEST(ConvKernels, TakeTensorsThatAreNotContiguous) {
  const auto x = random_tensor({3, 12, 10}).transpose(1, 2);  // [3,10,12]
  const auto taps = random_tensor({5, 4}).t();                // [4,5]
  const ConvGeometry geometry{.kernel = 5};
  EXPECT_TRUE(torch::equal(conv(x, taps, {}, geometry),
                           conv(x.contiguous(), taps.contiguous(), {}, geometry)));
}

TEST(ConvKernels, TakePaddedRowsOfLogitsAsTheyLie) {
  expect_padded_logits_give_the_same_bits(torch::kCPU);
  expect_padded_logits_step_alike(torch::kCPU);
}

TEST(ConvKernels, GiveTapsTheirGradientInTheirType) {
  const auto x = random_tensor({2, 9, 6}).requires_grad_();
  const auto taps = random_tensor({2, 3}, torch::kBFloat16).requires_grad_();
  conv(x, taps, {}, {.kernel = 3}).sum().backward();
  EXPECT_EQ(taps.grad().scalar_type(), torch::kBFloat16);
}

TEST(ConvKernels, ComputeOnlyTheGradientsAskedFor) {
  const auto x = random_tensor({2, 9, 6}), taps = random_tensor({2, 3});
  const auto wanted = taps.clone().requires_grad_();
  conv(x, wanted, {}, {.kernel = 3}).sum().backward();
  EXPECT_TRUE(wanted.grad().defined());
  EXPECT_FALSE(x.grad().defined());
  EXPECT_FALSE(conv(x, taps, {}, {.kernel = 3}).requires_grad());
}

TEST(ConvKernels, WorkInInferenceMode) {
  const auto x = random_tensor({2, 9, 12}), taps = random_tensor({2, 3});
  const auto logits = random_tensor({2, 9, 6});
  const ConvGeometry geometry{.kernel = 3, .alignment = Alignment::Causal};
  const auto expected = glu_conv(x, taps, {}, geometry);
  const c10::InferenceMode inference;
  EXPECT_TRUE(torch::equal(glu_conv(x, taps, {}, geometry), expected));
  ConvRing ring{torch::zeros({2, 2, 12})};
  EXPECT_TRUE(conv_step(x.narrow(1, 0, 1), taps, geometry, ring).isfinite().all().item<bool>());
  EXPECT_TRUE(dynamic_conv(x, logits, {}, geometry).isfinite().all().item<bool>());
}

TEST(ConvKernels, RefuseToBeDifferentiatedTwice) {
  const auto x = random_tensor({2, 9, 6}).requires_grad_();
  const auto taps = random_tensor({2, 3}).requires_grad_();
  const auto y = conv(x, taps, {}, {.kernel = 3});
  EXPECT_EQ(message_of<Error>(
                [&] { torch::autograd::grad({y.sum()}, {x}, {}, {}, /*create_graph=*/true); }),
            "conv: second derivatives are not supported in this type; use float64");
}

TEST(ConvKernels, TrainDroppedTapsThroughTheSoftmax) {
  const ConvGeometry geometry{.kernel = 5};
  const auto x = random_tensor({2, 30, 12});
  const auto logits = random_tensor({2, 30, 20}).requires_grad_();
  const auto gradient_of = [&](const std::function<torch::Tensor()>& f) {
    torch::manual_seed(5);  // drops the same taps
    return torch::autograd::grad({f().square().sum()}, {logits})[0];
  };
  const auto actual = gradient_of(
      [&] { return dynamic_conv(x, logits, {.softmax = true, .dropout = 0.3}, geometry); });
  const auto expected = gradient_of([&] {
    const auto taps = reference::tap_softmax(logits.unflatten(-1, {4, 5}));
    return reference::dynamic_conv(x, torch::dropout(taps, 0.3, true), {.softmax = false},
                                   geometry);
  });
  expect_near(actual, expected.to(torch::kFloat64), 5e-6, "logits");
}

TEST(TorchThreads, CoverALoopOnceOnSeveralThreads) {
  at::set_num_threads(2);
  std::vector<std::atomic<int>> visits(1000);
  std::mutex lock;
  std::set<std::thread::id> threads;
  on_torch_threads(1000, 10, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) ++visits[static_cast<size_t>(i)];
    const std::lock_guard guard(lock);
    threads.insert(std::this_thread::get_id());
  });
  at::set_num_threads(1);
  for (const auto& count : visits) ASSERT_EQ(count, 1);
  EXPECT_EQ(threads.size(), 2U);
}

TEST(ConvKernels, RefuseLengthsThatAreNoWholeNumbers) {
  EXPECT_EQ(
      message_of<Error>([&] {
        conv(torch::zeros({2, 3, 6}), torch::zeros({2, 3}), {torch::zeros({2})}, {.kernel = 3});
      }),
      "conv: lengths are Float; must be int64");
}

TEST(GpuConv, EqualsTheReferenceWithItsGradients) {
  ASSERT_TRUE(torch::cuda::is_available()) << "this test needs a GPU";
  torch::manual_seed(1);
  expect_ops_equal_the_reference(torch::kCUDA);
}

TEST(GpuConv, RepeatsBitForBit) {
  ASSERT_TRUE(torch::cuda::is_available()) << "this test needs a GPU";
  expect_runs_repeat(torch::kCUDA, [] {});
}

TEST(GpuConv, TakesPaddedRowsOfLogitsAsTheyLie) {
  ASSERT_TRUE(torch::cuda::is_available()) << "this test needs a GPU";
  expect_padded_logits_give_the_same_bits(torch::kCUDA);
  expect_padded_logits_step_alike(torch::kCUDA);
}

TEST(GpuConv, TapSoftmaxEqualsFloat64) {
  ASSERT_TRUE(torch::cuda::is_available()) << "this test needs a GPU";
  expect_tap_softmax_equals_float64(torch::kCUDA);
}

TEST(GpuConv, StepsEqualTheWholeSequence) {
  ASSERT_TRUE(torch::cuda::is_available()) << "this test needs a GPU";
  torch::manual_seed(2);
  expect_steps_equal_the_whole(torch::kCUDA);
  expect_steps_at_positions_equal_the_whole(torch::kCUDA);
}

}  // namespace convseq::ops
