#include "convseq/ops/adamw.h"

#include <limits>

#include "convseq/ops/kernel/adamw.h"
#include "convseq/ops/reference/adamw.h"
#include "tensor_checks.h"

namespace convseq::ops {
using convseq::testing::expect_close;
using convseq::testing::random_tensor;

namespace {

constexpr double kBeta1 = 0.9, kBeta2 = 0.99;

std::vector<AdamWTensors> some_tensors() {
  std::vector<AdamWTensors> all;
  const std::vector<std::vector<int64_t>> shapes = {{300, 70}, {5}, {0}, {1, 1}};
  for (const auto& shape : shapes) {
    all.push_back({.parameter = random_tensor(shape, torch::kFloat64),
                   .gradient = random_tensor(shape, torch::kFloat64),
                   .exp_avg = random_tensor(shape, torch::kFloat64),
                   .exp_avg_sq = random_tensor(shape, torch::kFloat64).abs(),
                   .copy = {},
                   .decays = shape.size() > 1});
  }
  return all;
}

std::vector<AdamWTensors> copies(const std::vector<AdamWTensors>& from,
                                 const torch::TensorOptions& options) {
  const auto copy = [&](const torch::Tensor& x) { return x.to(options).clone(); };
  std::vector<AdamWTensors> all;
  for (const auto& each : from) {
    all.push_back({.parameter = copy(each.parameter),
                   .gradient = copy(each.gradient),
                   .exp_avg = copy(each.exp_avg),
                   .exp_avg_sq = copy(each.exp_avg_sq),
                   .copy = torch::zeros_like(each.parameter, options.dtype(torch::kBFloat16)),
                   .decays = each.decays});
  }
  return all;
}

torch::Tensor third_step() {
  return torch::tensor({0.02, 1 - std::pow(kBeta1, 3), 1 - std::pow(kBeta2, 3)}, torch::kFloat64);
}

kernels::AdamWOptions some_options(bool scale_by_rms, double max_norm) {
  return {.beta1 = kBeta1,
          .beta2 = kBeta2,
          .weight_decay = 0.1,
          .max_norm = max_norm,
          .scale_by_rms = scale_by_rms};
}

const auto kFiniteLoss = torch::tensor(1.0, torch::kFloat64);

TEST(AdamW, EqualsTheFormulaWithClippedGradients) {
  torch::manual_seed(1);
  for (const bool scale_by_rms : {false, true}) {
    for (const double max_norm : {1.0, 1e9}) {
      const auto before = some_tensors();
      auto tensors = copies(before, torch::kFloat64);
      const auto norm =
          adamw(tensors, some_options(scale_by_rms, max_norm), third_step(), kFiniteLoss);
      double squares = 0;
      for (const auto& each : before) squares += each.gradient.square().sum().item<double>();
      EXPECT_NEAR(norm.item<double>(), std::sqrt(squares), 1e-9);
      for (size_t i = 0; i < tensors.size(); ++i) {
        const auto& p = before[i].parameter;
        const auto g = before[i].gradient * std::min(1.0, max_norm / std::sqrt(squares));
        const auto m = kBeta1 * before[i].exp_avg + (1 - kBeta1) * g;
        const auto v = kBeta2 * before[i].exp_avg_sq + (1 - kBeta2) * g.square();
        const auto rms = p.square().mean().sqrt().clamp_min(1e-3);
        const auto update =
            m / (1 - std::pow(kBeta1, 3)) / ((v / (1 - std::pow(kBeta2, 3))).sqrt() + 1e-8);
        const auto kept = before[i].decays ? p * (1 - 0.02 * 0.1) : p;
        expect_close(tensors[i].parameter, kept - 0.02 * (scale_by_rms ? update * rms : update),
                     1e-12);
        expect_close(tensors[i].exp_avg, m, 1e-12);
        expect_close(tensors[i].exp_avg_sq, v, 1e-12);
        EXPECT_TRUE(torch::equal(tensors[i].copy, tensors[i].parameter.to(torch::kBFloat16)));
      }
    }
  }
}

TEST(AdamW, UpdatesNothingWhereLossOrNormIsNotFinite) {
  const double kNan = std::numeric_limits<double>::quiet_NaN();
  const auto before = some_tensors();
  for (const bool loss_is_nan : {true, false}) {
    auto tensors = copies(before, torch::kFloat64);
    if (!loss_is_nan) tensors[1].gradient[2] = kNan;
    adamw(tensors, some_options(true, 1), third_step(),
          torch::tensor(loss_is_nan ? kNan : 1.0, torch::kFloat64));
    for (size_t i = 0; i < tensors.size(); ++i) {
      EXPECT_TRUE(torch::equal(tensors[i].parameter, before[i].parameter));
      EXPECT_TRUE(torch::equal(tensors[i].exp_avg, before[i].exp_avg));
    }
  }
}

TEST(GpuAdamW, EqualsTheReferenceInFloat64) {
  ASSERT_TRUE(torch::cuda::is_available()) << "this test needs a GPU";
  torch::manual_seed(1);
  const auto on_gpu = torch::TensorOptions(torch::kCUDA).dtype(torch::kFloat32);
  for (const bool scale_by_rms : {false, true}) {
    for (const double max_norm : {1.0, 1e9}) {
      const auto before = copies(some_tensors(), torch::kFloat32);
      auto found = copies(before, on_gpu), expected = copies(before, torch::kFloat64);
      ASSERT_TRUE(has_adamw_kernel(found[0].parameter));
      const auto options = some_options(scale_by_rms, max_norm);
      const auto norm =
          adamw(found, options, third_step().to(torch::kCUDA), kFiniteLoss.to(torch::kCUDA));
      expect_close(norm, reference::adamw(expected, options, third_step(), kFiniteLoss), 1e-6);
      for (size_t i = 0; i < found.size(); ++i) {
        expect_close(found[i].parameter, expected[i].parameter, 1e-6);
        expect_close(found[i].exp_avg, expected[i].exp_avg, 1e-6);
        expect_close(found[i].exp_avg_sq, expected[i].exp_avg_sq, 1e-6);
        EXPECT_TRUE(torch::equal(found[i].copy, found[i].parameter.to(torch::kBFloat16)));
      }
    }
  }
}

}  // namespace
}  // namespace convseq::ops
