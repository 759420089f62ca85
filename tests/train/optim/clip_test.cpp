#include "convseq/train/optim/clip.h"

#include <limits>

#include "convseq/ops/reference/tensor_norms.h"
#include "tensor_checks.h"

namespace convseq {
using testing::expect_close;
using testing::random_tensor;

namespace {

torch::Tensor with_gradient(const torch::Tensor& gradient) {
  auto parameter = torch::zeros_like(gradient).requires_grad_();
  parameter.mutable_grad() = gradient.clone();
  return parameter;
}

const std::vector<torch::Dtype> kTypes = {torch::kFloat32, torch::kFloat64};

TEST(Clip, ScalesAllGradientsToTheGlobalNorm) {
  for (auto type : kTypes) {
    const auto a = random_tensor({3, 5}, type), b = random_tensor({7}, type);
    const std::vector<torch::Tensor> parameters = {
        with_gradient(a), torch::zeros({2}, type).requires_grad_(), with_gradient(b)};
    const double expected = torch::cat({a.flatten(), b}).norm().item<double>();
    EXPECT_NEAR(clip_by_global_norm(parameters, 0.5), expected, 1e-6 * expected);
    expect_close(parameters[0].grad(), a * (0.5 / expected), 1e-6);
    expect_close(parameters[2].grad(), b * (0.5 / expected), 1e-6);
    EXPECT_FALSE(parameters[1].grad().defined());
    EXPECT_NEAR(clip_by_global_norm(parameters, 0.5), 0.5, 1e-6);
  }
}

TEST(Clip, LeavesSmallAndNonFiniteGradientsAsTheyAre) {
  const double infinity = std::numeric_limits<double>::infinity();
  const auto small = torch::tensor({0.3, 0.4});
  for (double max_norm : {0.6, infinity}) {
    const auto parameter = with_gradient(small);
    EXPECT_NEAR(clip_by_global_norm({parameter}, max_norm), 0.5, 1e-7);
    EXPECT_TRUE(torch::equal(parameter.grad(), small));
  }
  for (double bad : {infinity, -infinity, std::nan("")}) {
    const auto parameter = with_gradient(torch::tensor({1.0, bad}));
    const auto other = with_gradient(small);
    EXPECT_FALSE(std::isfinite(clip_by_global_norm({parameter, other}, 0.1)));
    EXPECT_TRUE(torch::equal(other.grad(), small));
  }
  EXPECT_EQ(clip_by_global_norm({torch::zeros({2}).requires_grad_()}, 1), 0);
}

TEST(Norms, AreExactForAnEmbedding) {
  const auto large = random_tensor({8192, 768});
  const auto scalar = torch::tensor(-3.0F);
  expect_close(ops::norms({large, scalar}),
               torch::stack({large.to(torch::kFloat64).norm(), scalar.to(torch::kFloat64).abs()}),
               1e-6);
  expect_close(ops::root_mean_squares({large, scalar})[0],
               large.to(torch::kFloat64).square().mean().sqrt(), 1e-6);
  expect_close(ops::parameter_scales({torch::zeros({3}), scalar}), torch::tensor({1e-3, 3.0}),
               1e-9);
}

}  // namespace
}  // namespace convseq
