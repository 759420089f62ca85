#include "ops/norm.h"

#include "ops/reference.h"
#include "tensor_checks.h"

namespace convseq::ops {
using convseq::testing::check_gradients;
using convseq::testing::expect_close;
using convseq::testing::random_tensor;
using convseq::testing::tolerance_of;

class NormTable : public ::testing::TestWithParam<std::tuple<torch::Dtype, int64_t>> {};

TEST_P(NormTable, EqualsTheReferenceInFloat64) {
  const auto [dtype, channels] = GetParam();
  const auto x = random_tensor({3, 5, channels}, dtype) * 4 + 1;
  const auto weight = random_tensor({channels}, dtype), bias = random_tensor({channels}, dtype);
  const auto wide = [](const torch::Tensor& t) { return t.to(torch::kFloat64); };
  expect_close(layer_norm(x, weight, bias, 1e-6),
               reference::layer_norm(wide(x), wide(weight), wide(bias), 1e-6), tolerance_of(dtype));
  expect_close(rms_norm(x, weight, 1e-6), reference::rms_norm(wide(x), wide(weight), 1e-6),
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
  check_gradients([&] { return reference::layer_norm(x, weight, bias, 1e-6); }, {x, weight, bias});
  check_gradients([&] { return rms_norm(x, weight, 1e-6); }, {x, weight});
}

}  // namespace convseq::ops
