#include "convseq/train/step/class_loss.h"

#include <gtest/gtest.h>

#include "tensor_checks.h"

namespace convseq {
namespace {

constexpr int64_t kNone = kIgnoredLabel;

struct LabelSetLoss : ::testing::Test {
  LabelSetLoss() { torch::manual_seed(4); }
  torch::Tensor logits = torch::randn({4, 3}, torch::kFloat64).mul(3).requires_grad_();
  torch::Tensor labels = torch::tensor({{1, 0, 1}, {0, 0, 0}, {1, 1, 0}, {0, 1, 1}}, torch::kInt64);
};

}  // namespace

TEST_F(LabelSetLoss, IsTorchsBinaryCrossEntropyWithLogits) {
  const auto weights = torch::tensor({1.0, 0.5, 2.0, 1.0}, torch::kFloat64);
  const auto positives = torch::tensor({1.0, 3.0, 0.25}, torch::kFloat64);
  const TokenLoss found =
      label_set_loss(logits, labels, {.weights = weights, .positives = positives});
  const auto expected = at::binary_cross_entropy_with_logits(
      logits, labels.to(torch::kFloat64), weights.unsqueeze(1), positives, at::Reduction::Sum);
  testing::expect_close(found.loss_sum, expected, 1e-12, "loss");
  testing::expect_close(torch::autograd::grad({found.loss_sum}, {logits})[0],
                        torch::autograd::grad({expected}, {logits})[0], 1e-7, "gradient");
  EXPECT_EQ(found.tokens.item<int64_t>(), 12);
  EXPECT_EQ(found.correct.item<int64_t>(),
            ((logits > 0) == labels.to(torch::kBool)).sum().item<int64_t>());
}

TEST_F(LabelSetLoss, SmoothingMovesTargetsTowardsAHalf) {
  const auto found = label_set_loss(logits, labels, {.label_smoothing = 0.2});
  const auto smooth = labels.to(torch::kFloat64) * 0.8 + 0.1;
  testing::expect_close(
      found.loss_sum,
      at::binary_cross_entropy_with_logits(logits, smooth, {}, {}, at::Reduction::Sum), 1e-12,
      "loss");
  testing::expect_close(found.nll_sum,
                        at::binary_cross_entropy_with_logits(logits, labels.to(torch::kFloat64), {},
                                                             {}, at::Reduction::Sum),
                        1e-12, "nll");
}

TEST_F(LabelSetLoss, PaddingRowsAndColumnsCountNothing) {
  const auto padded_logits =
      torch::cat({logits.detach(), torch::full({2, 3}, 50.0)}).to(torch::kFloat64).requires_grad_();
  auto padded_labels = torch::full({6, 5}, kNone, torch::kInt64);
  padded_labels.slice(0, 0, 4).slice(1, 0, 3).copy_(labels);
  const TokenLoss plain = label_set_loss(logits, labels, {});
  const TokenLoss padded = label_set_loss(padded_logits, padded_labels, {});
  testing::expect_close(padded.loss_sum, plain.loss_sum, 1e-12, "loss");
  testing::expect_close(padded.nll_sum, plain.nll_sum, 1e-12, "nll");
  EXPECT_EQ(padded.tokens.item<int64_t>(), 12);
  EXPECT_EQ(padded.correct.item<int64_t>(), plain.correct.item<int64_t>());
  const auto gradient = torch::autograd::grad({padded.loss_sum}, {padded_logits})[0];
  EXPECT_EQ(gradient.slice(0, 4).abs().sum().item<double>(), 0);
}

}  // namespace convseq
