#include "ops/attention.h"

#include "tensor_checks.h"

namespace convseq::ops {
using convseq::testing::expect_close;
using convseq::testing::random_tensor;

namespace {

// The formula, with -infinity where a query may not look.
torch::Tensor by_formula(const torch::Tensor& q, const torch::Tensor& k, const torch::Tensor& v,
                         const torch::Tensor& bias, const Lengths& lengths, bool causal) {
  auto scores = torch::matmul(q, k.transpose(-1, -2));
  if (bias.defined()) scores = scores + bias;
  const double minus = -std::numeric_limits<double>::infinity();
  if (causal) {
    const auto later =
        torch::ones({q.size(2), k.size(2)}, torch::kBool).triu(k.size(2) - q.size(2) + 1);
    scores = scores.masked_fill(later, minus);
  }
  if (!lengths.all_full()) {
    scores = scores.masked_fill(~lengths.mask(k.size(2)).unsqueeze(1).unsqueeze(1), minus);
  }
  return torch::matmul(scores.softmax(-1), v);
}

}  // namespace

TEST(Attention, EqualsTheFormula) {
  torch::manual_seed(1);
  const int64_t keys = 7;
  const auto k = random_tensor({2, 3, keys, 4}), v = random_tensor({2, 3, keys, 4});
  const Lengths some{torch::tensor({int64_t{7}, int64_t{3}})};
  for (int64_t queries : {7, 3, 1}) {
    const auto q = random_tensor({2, 3, queries, 4});
    for (const torch::Tensor& bias : {torch::Tensor(), random_tensor({1, 3, queries, keys})}) {
      for (const Lengths& lengths : {Lengths{}, some}) {
        for (bool causal : {false, true}) {
          expect_close(attention(q, k, v, bias, lengths, {.causal = causal}),
                       by_formula(q, k, v, bias, lengths, causal), 1e-5);
        }
      }
    }
  }
}

TEST(Attention, IsZeroAndFiniteOverNothing) {
  const auto q = random_tensor({2, 1, 3, 4}).requires_grad_();
  const auto k = random_tensor({2, 1, 5, 4});
  const auto y = attention(q, k, k, {}, {torch::tensor({int64_t{5}, int64_t{0}})}, {});
  EXPECT_EQ(y[1].abs().sum().item<double>(), 0);
  y.sum().backward();
  EXPECT_TRUE(q.grad().isfinite().all().item<bool>());
}

TEST(RelativeBuckets, AreExactNearAndLogarithmicFar) {
  const auto both = relative_buckets(200, 200, {.buckets = 32, .max_distance = 128}, torch::kCPU);
  EXPECT_EQ(both[100][100].item<int64_t>(), 0);
  EXPECT_EQ(both[100][93].item<int64_t>(), 7);    // left, exact
  EXPECT_EQ(both[100][107].item<int64_t>(), 23);  // right: 16 + 7
  EXPECT_EQ(both[100][92].item<int64_t>(), 8);    // the first logarithmic bucket
  EXPECT_EQ(both[0][199].item<int64_t>(), 31);    // beyond the last distance
  const auto causal = relative_buckets(
      200, 200, {.buckets = 32, .max_distance = 128, .bidirectional = false}, torch::kCPU);
  EXPECT_EQ(causal[100][150].item<int64_t>(), 0);  // the future, which is masked anyway
  EXPECT_EQ(causal[100][85].item<int64_t>(), 15);
  EXPECT_EQ(causal[199][0].item<int64_t>(), 31);
}

TEST(RelativeBuckets, OfTheLastQueriesAreTheLastRows) {
  const auto all = relative_buckets(20, 20, {}, torch::kCPU);
  EXPECT_TRUE(torch::equal(relative_buckets(3, 20, {}, torch::kCPU), all.narrow(0, 17, 3)));
}

}  // namespace convseq::ops
