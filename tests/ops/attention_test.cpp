#include "convseq/ops/attention.h"

#include <torch/autograd.h>
#include <torch/cuda.h>
#include <torch/types.h>
#include <torch/utils.h>

#include "convseq/base/error.h"
#include "convseq/ops/reference/attention.h"
#include "convseq/ops/reference/position_buckets.h"
#include "tensor_checks.h"

namespace convseq::ops {
using convseq::testing::expect_close;
using convseq::testing::random_tensor;

namespace {

// softmax(QKᵀ + bias) V, where masked probabilities are 0.
torch::Tensor by_formula(const torch::Tensor& q, const torch::Tensor& k, const torch::Tensor& v,
                         const torch::Tensor& bias, const Lengths& lengths, bool causal) {
  auto scores = torch::matmul(q, k.transpose(-1, -2));
  if (bias.defined()) scores = scores + bias;
  auto hidden = torch::zeros({q.size(0), 1, q.size(2), k.size(2)}, torch::kBool);
  if (causal) {
    hidden =
        hidden | torch::ones({q.size(2), k.size(2)}, torch::kBool).triu(k.size(2) - q.size(2) + 1);
  }
  if (!lengths.all_full()) hidden = hidden | ~lengths.mask(k.size(2)).unsqueeze(1).unsqueeze(1);
  const auto p = scores.masked_fill(hidden, -1e30).softmax(-1).masked_fill(hidden, 0);
  return torch::matmul(p, v);
}

}  // namespace

#ifdef __aarch64__
TEST(Attention, Bf16OnAnArmCpuIsComputedInFp32AndRoundedOnce) {
  torch::manual_seed(1);
  const auto q = random_tensor({2, 3, 5, 4}).to(torch::kBFloat16);
  const auto k = random_tensor({2, 3, 7, 4}).to(torch::kBFloat16);
  const auto v = random_tensor({2, 3, 7, 4}).to(torch::kBFloat16);
  const auto wide = [](const torch::Tensor& x) { return x.to(torch::kFloat32); };
  const auto y = reference::attention(q, k, v, {}, {}, {});
  EXPECT_EQ(y.scalar_type(), torch::kBFloat16);
  EXPECT_TRUE(
      y.equal(reference::attention(wide(q), wide(k), wide(v), {}, {}, {}).to(torch::kBFloat16)));
}
#endif

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

// The bias per pair for queries at the last positions of the keys, with distances clamped to the
// largest.
torch::Tensor by_pairs(const torch::Tensor& bias, int64_t queries, int64_t keys) {
  const int64_t max_distance = bias.size(1) / 2;
  std::vector<torch::Tensor> rows;
  for (int64_t query = keys - queries; query < keys; ++query) {
    const auto distance = torch::arange(keys) - query;
    rows.push_back(
        bias.index_select(1, distance.clamp(-max_distance, max_distance) + max_distance));
  }
  return torch::stack(rows, 1).unsqueeze(0);
}

TEST(Attention, TakesABiasByDistance) {
  torch::manual_seed(1);
  const auto bias = random_tensor({3, 7}), k = random_tensor({2, 3, 9, 4});
  for (int64_t queries : {9, 4, 1}) {
    const auto q = random_tensor({2, 3, queries, 4});
    expect_close(attention(q, k, k, bias, {}, {.causal = true}),
                 by_formula(q, k, k, by_pairs(bias, queries, 9), {}, true), 1e-5);
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

// Compares the kernel with the formula in float64: odd sizes, padded keys, rows without keys, few
// and many distances.
struct AttentionCase {
  int64_t batch, heads, queries, keys;
  bool causal;
  int64_t max_distance;  // 0: no bias
  std::vector<int64_t> lengths;
  double sharpness = 0.3;  // scale of the queries; 3 gives nearly one-hot probabilities, and
                           // running maxima that move to later keys
};

class GpuAttentionKernel : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(torch::cuda::is_available()) << "this test needs a GPU";
    torch::manual_seed(3);
  }

  const torch::TensorOptions bf16 = torch::TensorOptions(torch::kCUDA).dtype(torch::kBFloat16);
};

class GpuAttention : public GpuAttentionKernel,
                     public ::testing::WithParamInterface<AttentionCase> {
 protected:
  struct Found {
    torch::Tensor y, dq, dk, dv, dbias;
  };

  using Attend = std::function<torch::Tensor(const torch::Tensor&, const torch::Tensor&,
                                             const torch::Tensor&, const torch::Tensor&)>;

  static Found run(const Attend& attend, const std::vector<torch::Tensor>& inputs,
                   const torch::Tensor& dy) {
    std::vector<torch::Tensor> leaves;
    for (const auto& input : inputs) {
      leaves.push_back(input.detach().requires_grad_());
      torch::full_like(input, NAN);  // fills memory that an output may reuse
    }
    const auto bias = leaves.size() > 3 ? leaves[3] : torch::Tensor();
    const auto y = attend(leaves[0], leaves[1], leaves[2], bias);
    const auto gradients = torch::autograd::grad({y}, leaves, {dy});
    return {y, gradients[0], gradients[1], gradients[2],
            gradients.size() > 3 ? gradients[3] : torch::Tensor()};
  }
};

TEST_P(GpuAttention, EqualsTheFormulaAndItself) {
  const AttentionCase& at = GetParam();
  const auto rows = [&](int64_t time,
                        double scale) {  // memory layout [B,T,H,64]
    return (random_tensor({at.batch, time, at.heads, 64}) * scale).to(bf16).transpose(1, 2);
  };
  std::vector<torch::Tensor> inputs = {rows(at.queries, at.sharpness), rows(at.keys, 0.5),
                                       rows(at.keys, 1)};
  if (at.max_distance > 0) {
    inputs.push_back(random_tensor({at.heads, 2 * at.max_distance + 1}).to(torch::kCUDA));
  }
  const auto dy = rows(at.queries, 1);
  Lengths lengths;
  if (!at.lengths.empty()) lengths.values = torch::tensor(at.lengths).to(torch::kCUDA);
  const Attend ours = [&](const auto& q, const auto& k, const auto& v, const auto& bias) {
    return attention(q, k, v, bias, lengths, {.causal = at.causal});
  };
  const auto found = run(ours, inputs, dy), again = run(ours, inputs, dy);

  std::vector<torch::Tensor> wide;
  for (const auto& input : inputs) wide.push_back(input.cpu().to(torch::kFloat64));
  Lengths on_cpu;
  if (!at.lengths.empty()) on_cpu.values = torch::tensor(at.lengths);
  const auto expected = run(
      [&](const auto& q, const auto& k, const auto& v, const auto& bias) {
        const auto pairs = bias.defined() ? by_pairs(bias, at.queries, at.keys) : bias;
        return by_formula(q, k, v, pairs, on_cpu, at.causal);
      },
      wide, dy.cpu().to(torch::kFloat64));

  const auto compare = [](const torch::Tensor& one, const torch::Tensor& other,
                          const torch::Tensor& formula, const char* what, double more = 0) {
    EXPECT_TRUE(torch::equal(one, other)) << what;
    // P and dS are rounded to bf16 as operands of a matmul.
    const double scale = formula.abs().max().template item<double>();
    expect_close(one, formula, 0.01 * (1 + scale) + more, what);
  };
  compare(found.y, again.y, expected.y, "y");
  compare(found.dq, again.dq, expected.dq, "dq");
  compare(found.dk, again.dk, expected.dk, "dk");
  compare(found.dv, again.dv, expected.dv, "dv");
  if (at.max_distance > 0) {
    // The delta of each query is Σ y dy with y rounded to bf16: relative errors of at most 2⁻⁹,
    // uniform, with standard deviation 2⁻⁹/√3. The gradient of one distance may sum over all
    // queries; allow four standard deviations of that sum.
    const double rounding = expected.y.mul(dy.cpu()).norm().item<double>() / 512 / std::sqrt(3.);
    compare(found.dbias, again.dbias, expected.dbias, "dbias", 4 * rounding);
  }
}

INSTANTIATE_TEST_SUITE_P(Gpu, GpuAttention,
                         ::testing::Values(AttentionCase{1, 1, 64, 64, false, 0, {}},
                                           AttentionCase{1, 2, 5, 7, false, 0, {}},
                                           AttentionCase{2, 3, 130, 70, false, 0, {33, 70}},
                                           AttentionCase{2, 12, 114, 512, false, 0, {}},
                                           AttentionCase{2, 3, 128, 300, false, 0, {130, 0}},
                                           AttentionCase{2, 1, 70, 100, true, 0, {64, 100}},
                                           AttentionCase{1, 2, 100, 200, false, 0, {}, 3},
                                           AttentionCase{1, 1, 90, 40, true, 0, {}},
                                           AttentionCase{1, 2, 1, 130, false, 0, {}},
                                           AttentionCase{2, 2, 128, 300, false, 0, {64, 128}},
                                           AttentionCase{1, 2, 129, 200, false, 0, {}},
                                           AttentionCase{1, 1, 200, 200, true, 16, {}},
                                           AttentionCase{2, 1, 150, 150, false, 20, {150, 0}},
                                           AttentionCase{2, 1, 100, 190, true, 8, {64, 130}},
                                           AttentionCase{1, 2, 1, 130, true, 128, {}},
                                           AttentionCase{3, 2, 300, 300, false, 40, {1, 299, 300}},
                                           AttentionCase{1, 3, 1000, 1000, true, 128, {}},
                                           AttentionCase{1, 3, 1000, 1000, false, 128, {}},
                                           AttentionCase{1, 1, 65, 65, false, 960, {}},
                                           AttentionCase{1, 1, 90, 40, true, 8, {}},
                                           AttentionCase{1, 2, 200, 260, false, 40, {}, 3}));

TEST_F(GpuAttentionKernel, TakesInputsThatLieOtherwise) {
  const auto k = random_tensor({2, 3, 64, 40}).to(bf16).transpose(2, 3);  // strided channels
  const auto shifted = random_tensor({2 * 3 * 40 * 64 + 1}).to(bf16).narrow(0, 1, 2 * 3 * 40 * 64);
  const auto v = shifted.view({2, 3, 40, 64});  // not aligned to 16 bytes
  const auto q = random_tensor({2, 3, 9, 64}).to(bf16) / 8;
  const auto wide = [](const torch::Tensor& x) { return x.cpu().to(torch::kFloat64); };
  expect_close(attention(q, k, v, {}, {}, {}), by_formula(wide(q), wide(k), wide(v), {}, {}, false),
               0.02);
}

TEST_F(GpuAttentionKernel, WhatStandsBeyondALengthDoesNotMatter) {
  const int64_t length = 70, keys = 200;
  const Lengths lengths{torch::tensor({length}).to(torch::kCUDA)};
  for (int64_t queries : {40, 180}) {
    const auto q = (random_tensor({1, 2, queries, 64}).to(bf16) / 8).requires_grad_();
    const auto gradients = [&](double beyond) {
      torch::manual_seed(4);
      auto k = random_tensor({1, 2, keys, 64}).to(bf16), v = random_tensor(k.sizes()).to(bf16);
      for (auto* each : {&k, &v}) {
        each->narrow(2, length, keys - length).fill_(beyond);
        each->requires_grad_();
      }
      const auto y = attention(q, k, v, {}, lengths, {});
      auto all = torch::autograd::grad({y}, {q, k, v}, {torch::ones_like(y)});
      all.push_back(y);
      return all;
    };
    const auto zeros = gradients(0), none = gradients(NAN);
    for (size_t i = 0; i < zeros.size(); ++i) EXPECT_TRUE(torch::equal(zeros[i], none[i])) << i;
    for (size_t i : {1, 2}) {  // of keys and values
      EXPECT_EQ(none[i].narrow(2, length, keys - length).abs().sum().item<double>(), 0) << i;
    }
  }
}

TEST_F(GpuAttentionKernel, TakesAGradientThatIsOneNumberAndABiasThatIsFixed) {
  const auto q = (random_tensor({2, 3, 9, 64}).to(bf16) / 8).requires_grad_();
  const auto k = random_tensor({2, 3, 9, 64}).to(bf16), v = random_tensor({2, 3, 9, 64}).to(bf16);
  const auto y = attention(q, k, v, random_tensor({3, 17}).to(torch::kCUDA), {}, {});
  const auto one = torch::autograd::grad({y.sum()}, {q}, {}, /*retain_graph=*/true);
  const auto ones = torch::autograd::grad({y}, {q}, {torch::ones_like(y)});
  EXPECT_TRUE(torch::equal(one[0], ones[0]));
}

TEST_F(GpuAttentionKernel, OfNothingIsNothing) {
  const auto some = random_tensor({2, 3, 5, 64}).to(bf16), none = some.narrow(2, 0, 0);
  EXPECT_TRUE(torch::equal(attention(some, none, none, {}, {}, {}), torch::zeros_like(some)));
  EXPECT_EQ(attention(none, some, some, {}, {}, {}).numel(), 0);
  EXPECT_EQ(attention(some.narrow(0, 0, 0), some.narrow(0, 0, 0), some.narrow(0, 0, 0), {}, {}, {})
                .numel(),
            0);
}

TEST_F(GpuAttentionKernel, RefusesWhatDoesNotFit) {
  const auto q = random_tensor({2, 3, 5, 64}).to(bf16);
  EXPECT_THROW(attention(q, q.narrow(0, 0, 1), q.narrow(0, 0, 1), {}, {}, {}), Error);
  EXPECT_THROW(attention(q, q, q.narrow(2, 0, 4), {}, {}, {}), Error);
  EXPECT_THROW(attention(q, q, q, random_tensor({2, 17}).to(torch::kCUDA), {}, {}), Error);
}

TEST_F(GpuAttentionKernel, RefusesASecondDerivative) {
  const auto q = random_tensor({1, 1, 4, 64}).to(bf16).requires_grad_();
  EXPECT_THROW(torch::autograd::grad({attention(q, q, q, {}, {}, {}).square().sum()}, {q}, {},
                                     /*retain_graph=*/true, /*create_graph=*/true),
               Error);
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
  EXPECT_EQ(causal[100][150].item<int64_t>(), 0);  // a future key, which is masked
  EXPECT_EQ(causal[100][85].item<int64_t>(), 15);
  EXPECT_EQ(causal[199][0].item<int64_t>(), 31);
}

TEST(RelativeBuckets, ByDistanceAreThoseOfPairs) {
  for (const bool bidirectional : {false, true}) {
    const BucketOptions options{.buckets = 8, .max_distance = 20, .bidirectional = bidirectional};
    const auto by_distance = distance_buckets(options, torch::kCPU).to(torch::kFloat32);
    expect_close(by_pairs(by_distance.unsqueeze(0), 50, 60)[0][0],
                 relative_buckets(50, 60, options, torch::kCPU).to(torch::kFloat32), 0);
  }
}

TEST(RelativeBuckets, OfTheLastQueriesAreTheLastRows) {
  const auto all = relative_buckets(20, 20, {}, torch::kCPU);
  EXPECT_TRUE(torch::equal(relative_buckets(3, 20, {}, torch::kCPU), all.narrow(0, 17, 3)));
}

}  // namespace convseq::ops
