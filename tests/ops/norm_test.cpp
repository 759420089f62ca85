#include "convseq/ops/norm.h"

#include "convseq/ops/reference/norm.h"
#include "tensor_checks.h"

namespace convseq::ops {
using convseq::testing::check_gradients;
using convseq::testing::expect_close;
using convseq::testing::random_tensor;
using convseq::testing::tolerance_of;

// Neighbouring values are far apart, because the norm of a short row of nearly equal or nearly zero
// values is ill-conditioned.
torch::Tensor spread_tensor(const std::vector<int64_t>& sizes) {
  const auto sign = 1 - 2 * torch::arange(sizes.back(), torch::kFloat64).remainder(2);
  return 5 * sign + 6 * torch::rand(sizes, torch::kFloat64) - 3;
}

// The formulas, term by term.
torch::Tensor formula_rms_norm(const torch::Tensor& x, const torch::Tensor& weight) {
  return x * torch::rsqrt(x.square().mean(-1, /*keepdim=*/true) + 1e-6) * weight;
}

torch::Tensor formula_layer_norm(const torch::Tensor& x, const torch::Tensor& weight,
                                 const torch::Tensor& bias) {
  return formula_rms_norm(x - x.mean(-1, /*keepdim=*/true), weight) + bias;
}

class NormTable : public ::testing::TestWithParam<std::tuple<torch::Dtype, int64_t>> {};

TEST_P(NormTable, EqualsTheFormulaInFloat64) {
  const auto [dtype, channels] = GetParam();
  const auto x = spread_tensor({3, 5, channels}).to(dtype);
  const auto weight = random_tensor({channels}, dtype), bias = random_tensor({channels}, dtype);
  const auto wide = [](const torch::Tensor& t) { return t.to(torch::kFloat64); };
  expect_close(layer_norm(x, weight, bias, 1e-6),
               formula_layer_norm(wide(x), wide(weight), wide(bias)), tolerance_of(dtype));
  expect_close(rms_norm(x, weight, 1e-6), formula_rms_norm(wide(x), wide(weight)),
               tolerance_of(dtype));
}

INSTANTIATE_TEST_SUITE_P(Shapes, NormTable,
                         ::testing::Combine(::testing::Values(torch::kFloat32, torch::kFloat64,
                                                              torch::kBFloat16),
                                            ::testing::Values(2, 7, 768)));

TEST(Norm, GradientsEqualFiniteDifferences) {
  const auto x = random_tensor({2, 3, 5}, torch::kFloat64).requires_grad_();
  const auto weight = random_tensor({5}, torch::kFloat64).requires_grad_();
  const auto bias = random_tensor({5}, torch::kFloat64).requires_grad_();
  check_gradients([&] { return layer_norm(x, weight, bias, 1e-6); }, {x, weight, bias});
  check_gradients([&] { return rms_norm(x, weight, 1e-6); }, {x, weight});
}

TEST(Norm, WithAResidualItIsTheSum) {
  const auto residual = random_tensor({2, 3, 5}, torch::kFloat64).requires_grad_();
  const auto x = random_tensor({2, 3, 5}, torch::kFloat64).requires_grad_();
  const auto weight = random_tensor({5}, torch::kFloat64).requires_grad_();
  const auto bias = random_tensor({5}, torch::kFloat64).requires_grad_();
  expect_close(add_layer_norm(residual, x, weight, bias, 1e-6),
               residual + formula_layer_norm(x, weight, bias), 1e-12);
  check_gradients([&] { return add_layer_norm(residual, x, weight, bias, 1e-6); },
                  {residual, x, weight, bias});
  const auto sum_of_both = [&] {
    const auto [normed, input] = rms_norm_and_input(x, weight, 1e-6);
    return normed + 2 * input;
  };
  expect_close(sum_of_both(), formula_rms_norm(x, weight) + 2 * x, 1e-12);
  check_gradients(sum_of_both, {x, weight});
}

// A running sum in bf16 would stop growing over this many rows.
TEST(Norm, Bf16GradientsOverManyRowsEqualFloat64OnACpu) {
  torch::manual_seed(3);
  const int64_t rows = 32768, channels = 24;
  const auto x = spread_tensor({rows, channels}).to(torch::kBFloat16);
  const auto weight = random_tensor({channels}, torch::kBFloat16);
  const auto bias = random_tensor({channels}, torch::kBFloat16);
  const auto dy = (random_tensor({rows, channels}) + 1).to(torch::kBFloat16);  // so that sums grow
  const auto gradients = [&](bool centred, torch::Dtype type) {
    std::vector<torch::Tensor> inputs;
    for (const auto& each : {x, weight, bias}) {
      inputs.push_back(each.detach().to(type, false, /*copy=*/true).requires_grad_());
    }
    const auto y = centred ? layer_norm(inputs[0], inputs[1], inputs[2], 1e-6)
                           : rms_norm(inputs[0], inputs[1], 1e-6);
    if (!centred) inputs.pop_back();
    return torch::autograd::grad({y}, inputs, {dy.to(type)});
  };
  for (const bool centred : {true, false}) {
    const auto found = gradients(centred, torch::kBFloat16);
    const auto expected = gradients(centred, torch::kFloat64);
    for (size_t i = 0; i < expected.size(); ++i) {
      // The result is rounded to bf16 once.
      expect_close(found[i], expected[i], 1.0 / 250, std::to_string(i));
    }
  }
}

// On a GPU, for any number of channels and rows, the results equal float64 and are reproducible bit
// for bit.
class GpuNorm : public ::testing::TestWithParam<std::tuple<torch::Dtype, int64_t, int64_t>> {
 protected:
  void SetUp() override {
    ASSERT_TRUE(torch::cuda::is_available()) << "this test needs a GPU";
    torch::manual_seed(3);
    const auto [dtype, rows, channels] = GetParam();
    x_ = spread_tensor({rows, channels}).to(dtype);
    residual_ = random_tensor({rows, channels}, dtype);
    weight_ = random_tensor({channels}, dtype);
    bias_ = random_tensor({channels}, dtype);
    gradient_ = random_tensor({rows, 2 * channels}, dtype);
  }

  using Op = std::function<torch::Tensor(const std::vector<torch::Tensor>&)>;

  // The output and the gradients of sum(output · gradient).
  std::vector<torch::Tensor> run(const Op& op, torch::Device device, torch::Dtype dtype) const {
    std::vector<torch::Tensor> inputs;
    for (const auto& each : {residual_, x_, weight_, bias_}) {
      inputs.push_back(each.detach().to(device, dtype).requires_grad_());
    }
    const auto y = op(inputs);
    const auto gradient = gradient_.narrow(1, 0, y.size(1)).contiguous();
    auto results = torch::autograd::grad({y}, inputs, {gradient.to(device, dtype)},
                                         /*retain_graph=*/false, /*create_graph=*/false,
                                         /*allow_unused=*/true);
    results.push_back(y.detach());
    return results;
  }

  void expect_equal_to_float64(const Op& fast, const Op& slow) const {
    const auto [dtype, rows, channels] = GetParam();
    const auto there = run(fast, torch::kCUDA, dtype), again = run(fast, torch::kCUDA, dtype);
    const auto here = run(slow, torch::kCPU, torch::kFloat64);
    for (size_t i = 0; i < here.size(); ++i) {
      ASSERT_EQ(there[i].defined(), here[i].defined());
      if (!here[i].defined()) continue;
      EXPECT_TRUE(torch::equal(there[i], again[i])) << i;
      // The gradient of a weight sums over all rows, so its error grows with their number.
      const double growth = i == 2 || i == 3 ? std::sqrt(static_cast<double>(rows)) : 1;
      expect_close(there[i], here[i], (dtype == torch::kBFloat16 ? 2e-2 : 1e-5 * growth),
                   std::to_string(i));
    }
  }

  torch::Tensor x_, residual_, weight_, bias_, gradient_;
};

TEST_P(GpuNorm, LayerNormAloneEqualsTheReference) {
  expect_equal_to_float64(
      [](const auto& in) { return layer_norm(in[1], in[2], in[3], 1e-6); },
      [](const auto& in) { return reference::layer_norm(in[1], in[2], in[3], 1e-6); });
}

TEST_P(GpuNorm, ResidualPlusLayerNormEqualsTheReference) {
  expect_equal_to_float64(
      [](const auto& in) { return add_layer_norm(in[0], in[1], in[2], in[3], 1e-6); },
      [](const auto& in) { return in[0] + reference::layer_norm(in[1], in[2], in[3], 1e-6); });
}

TEST_P(GpuNorm, RmsNormBesideItsInputEqualsTheReference) {
  expect_equal_to_float64(
      [](const auto& in) {
        const auto [normed, input] = rms_norm_and_input(in[1], in[2], 1e-6);
        return torch::cat({normed, input}, 1);
      },
      [](const auto& in) {
        return torch::cat({reference::rms_norm(in[1], in[2], 1e-6), in[1]}, 1);
      });
}

TEST_P(GpuNorm, RmsNormAloneEqualsTheReference) {
  expect_equal_to_float64([](const auto& in) { return rms_norm(in[1], in[2], 1e-6); },
                          [](const auto& in) { return reference::rms_norm(in[1], in[2], 1e-6); });
}

INSTANTIATE_TEST_SUITE_P(Gpu, GpuNorm,
                         ::testing::Combine(::testing::Values(torch::kFloat32, torch::kBFloat16),
                                            ::testing::Values(1, 3, 5000),
                                            ::testing::Values(1, 2, 7, 8, 24, 250, 256, 512, 768,
                                                              1000, 1024, 1032, 3001)));

}  // namespace convseq::ops
