#pragma once

#include <gtest/gtest.h>
#include <torch/autograd.h>
#include <torch/types.h>
#include <torch/utils.h>

#include <functional>
#include <vector>

namespace convseq::testing {

// |actual - expected| ≤ tolerance * (1 + |expected|), everywhere; NaN never passes.
inline void expect_close(const torch::Tensor& actual, const torch::Tensor& expected,
                         double tolerance, const std::string& what = "") {
  ASSERT_EQ(actual.sizes(), expected.sizes()) << what;
  const auto a = actual.detach().cpu().to(torch::kFloat64);
  const auto e = expected.detach().cpu().to(torch::kFloat64);
  if (a.numel() == 0) return;
  ASSERT_TRUE(a.isfinite().all().item<bool>()) << what << ": not finite";
  const double excess = ((a - e).abs() / (1 + e.abs())).max().item<double>();
  EXPECT_LE(excess, tolerance) << what;
}

inline torch::Tensor random_tensor(torch::IntArrayRef shape, torch::Dtype dtype = torch::kFloat32) {
  return torch::randn(shape, torch::kFloat64).to(dtype);
}

struct GradientCheck {
  double tolerance = 1e-7;
  int64_t samples = 40;  // elements looked at in each input, spread over it
};

// Compares the gradients of sum(f(inputs) * fixed random weights) with central differences;
// float64.
inline void check_gradients(const std::function<torch::Tensor()>& f,
                            std::vector<torch::Tensor> inputs, const GradientCheck& check = {}) {
  for (auto& input : inputs) ASSERT_EQ(input.scalar_type(), torch::kFloat64);
  const auto weights = torch::randn_like(f().detach());
  const auto objective = [&] { return (f() * weights).sum(); };
  const auto gradients = torch::autograd::grad({objective()}, inputs);
  const torch::NoGradGuard no_grad;
  constexpr double kStep = 1e-5;
  for (size_t i = 0; i < inputs.size(); ++i) {
    auto flat = inputs[i].data().view(-1);
    const auto analytic = gradients[i].reshape(-1);
    const int64_t stride = std::max<int64_t>(1, flat.numel() / check.samples);
    for (int64_t j = 0; j < flat.numel(); j += stride) {
      const double kept = flat[j].item<double>();
      flat[j] = kept + kStep;
      const double above = objective().item<double>();
      flat[j] = kept - kStep;
      const double below = objective().item<double>();
      flat[j] = kept;
      const double numeric = (above - below) / (2 * kStep);
      EXPECT_NEAR(analytic[j].item<double>(), numeric, check.tolerance * (1 + std::abs(numeric)))
          << "input " << i << ", element " << j;
    }
  }
}

inline double tolerance_of(torch::Dtype dtype) {
  if (dtype == torch::kFloat64) return 1e-12;
  if (dtype == torch::kFloat32) return 1e-5;
  return 3e-2;  // bf16: 8 bits of mantissa, through several layers
}

}  // namespace convseq::testing
