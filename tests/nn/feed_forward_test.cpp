#include "convseq/nn/feed_forward.h"

#include "convseq/nn/norm.h"
#include "tensor_checks.h"

namespace convseq::nn {
using convseq::testing::expect_close;
using convseq::testing::random_tensor;

namespace {
std::shared_ptr<FeedForward> make(FeedForwardKind kind) {
  auto ffn =
      std::make_shared<FeedForward>(FeedForwardOptions{.kind = kind, .channels = 6, .inner = 10});
  auto random = at::make_generator<at::CPUGeneratorImpl>(1);
  ffn->initialise(random);
  return ffn;
}
}  // namespace

TEST(FeedForward, ReluIsItsFormula) {
  const auto ffn = make(FeedForwardKind::Relu);
  const auto w = ffn->named_parameters();
  const auto x = random_tensor({2, 3, 6});
  const auto expected = torch::relu(x.matmul(w["up.weight"].t())).matmul(w["down.weight"].t());
  expect_close(ffn->forward(x), expected, 1e-6);
}

TEST(FeedForward, GatedGeluIsItsFormula) {
  const auto ffn = make(FeedForwardKind::GatedGelu);
  const auto w = ffn->named_parameters();
  const auto x = random_tensor({2, 3, 6});
  const auto gate = x.matmul(w["gate.weight"].t());
  const auto gelu = 0.5 * gate * (1 + torch::tanh(0.7978845608 * (gate + 0.044715 * gate.pow(3))));
  expect_close(ffn->forward(x), (gelu * x.matmul(w["up.weight"].t())).matmul(w["down.weight"].t()),
               1e-6);
}

TEST(Residual, NormsTheBranchOrItsInput) {
  const auto x = random_tensor({2, 3, 6});
  const auto twice = [](const torch::Tensor& y) { return 2 * y; };
  for (NormStyle style : {NormStyle::BranchLayerNorm, NormStyle::PreRmsNorm}) {
    Norm norm({.style = style, .channels = 6});
    norm.initialise();
    const auto expected =
        style == NormStyle::PreRmsNorm ? x + 2 * norm.forward(x) : x + norm.forward(2 * x);
    expect_close(Residual({.style = style})(x, norm, twice), expected, 1e-6);
  }
}

}  // namespace convseq::nn
