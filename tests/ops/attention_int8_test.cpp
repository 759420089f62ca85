#include <torch/cuda.h>

#include "convseq/base/error.h"
#include "convseq/ops/attention.h"
#include "convseq/ops/reference/attention.h"
#include "ops/attention_step_table.h"
#include "tensor_checks.h"

namespace convseq::ops {
using convseq::testing::expect_close;
using convseq::testing::random_tensor;
using namespace testing;

namespace {

torch::Tensor real_values(const torch::Tensor& rows, const torch::Tensor& scales, int64_t which) {
  return rows.to(torch::kFloat32) * scales.select(-1, which).unsqueeze(-1);
}

TEST(Int8Cache, IsWithinHalfAStepOfTheValues) {
  torch::manual_seed(1);
  const AttentionCache made = random_cache({.channels = 5});
  made.values[0][1][2].zero_();
  const AttentionCache int8 = quantize_cache(made.keys, made.values);
  const auto check = [&](const torch::Tensor& x, const torch::Tensor& rows, int64_t which) {
    const auto steps = int8.scales.select(-1, which);
    expect_close(steps, x.abs().amax(-1) / 127, 1e-6);
    const auto errors = (real_values(rows, int8.scales, which) - x).abs();
    EXPECT_TRUE((errors <= 0.5001 * steps.unsqueeze(-1)).all().item<bool>());
  };
  check(made.keys, int8.keys, 0);
  check(made.values, int8.values, 1);
  EXPECT_EQ(int8.scales[0][1][2][1].item<float>(), 0);
  EXPECT_EQ(int8.bytes(), 2 * made.keys.numel() + 4 * int8.scales.numel());
}

TEST(Int8Cache, HoldsTheKeyOfEachStep) {
  torch::manual_seed(1);
  const StepSizes sizes{.channels = 4};
  AttentionCache cache =
      empty_int8_cache({sizes.batch, sizes.heads, sizes.capacity, sizes.channels}, torch::kCPU);
  const auto bias = random_tensor({3, 5});
  AttentionCache exact = empty_cache_like(cache);
  for (int64_t i = 0; i < sizes.capacity; ++i) {
    const auto q = one_position(sizes), k = one_position(sizes), v = one_position(sizes);
    const auto positions = torch::full({sizes.batch}, i, torch::kInt64);
    const auto y = attention_step(q, k, v, bias, positions, cache);
    const AttentionCache now = quantize_cache(k, v);
    const auto expected =
        attention_step(q, real_values(now.keys, now.scales, 0),
                       real_values(now.values, now.scales, 1), bias, positions, exact);
    expect_close(y, expected, 1e-5);
  }
  expect_close(attention_to_cache(one_position(sizes) * 0, cache, {}),
               real_values(cache.values, cache.scales, 1).mean(2, true), 1e-5);
}

TEST(Int8Cache, RefusesManyQueries) {
  const AttentionCache made = random_cache({});
  EXPECT_THROW(attention_to_cache(made.keys, quantize_cache(made.keys, made.values), {}), Error);
  EXPECT_THROW(attention_to_cache(one_position({}), made, {}), Error);
}

// An error of at most half a step per channel changes a score by at most e = Σ |q| · step / 2, the
// probabilities by factors of at most exp(2e), and each value by half a step.
TEST(Int8Cache, AttentionIsWithinTheErrorOfItsSteps) {
  torch::manual_seed(1);
  const StepSizes sizes{.batch = 4, .capacity = 33};
  const AttentionCache made = random_cache(sizes);
  const auto q = one_position(sizes) / 8;
  const AttentionCache int8 = quantize_cache(made.keys, made.values);
  const auto steps = int8.scales.amax(2, true);  // [B,H,1,2]
  const auto e = q.abs().sum(-1) * steps.select(-1, 0) / 2;
  const auto bound = made.values.abs().amax({2, 3}).unsqueeze(-1) * ((2 * e).exp() - 1) +
                     steps.select(-1, 1) / 2;  // [B,H,1]
  const auto errors =
      attention_to_cache(q, int8, {}) - reference::attention(q, made.keys, made.values, {}, {}, {});
  EXPECT_TRUE((errors.abs() <= bound.unsqueeze(-1)).all().item<bool>());
  EXPECT_LT(errors.abs().max().item<double>(), 0.02);  // errors average out
}

class GpuInt8Cache : public GpuStepTest {
 protected:
  static AttentionCache quantized(const AttentionCache& made) {
    return quantize_cache(on_gpu(made.keys), on_gpu(made.values));
  }
  // The query has 16 bits.
  static double tolerance() { return std::max(GetParam().tolerance, 1e-3); }
};

TEST_P(GpuInt8Cache, IsThatOfTheReference) {
  const AttentionCache made = random_cache(GetParam().sizes);
  const AttentionCache actual = quantized(made);
  const AttentionCache expected =
      reference::quantize_cache(rounded(made.keys), rounded(made.values));
  expect_close(actual.keys, expected.keys, 0, "keys");
  expect_close(actual.values, expected.values, 0, "values");
  expect_close(actual.scales, expected.scales, 0, "scales");
}

TEST_P(GpuInt8Cache, StepsEqualTheReference) {
  const StepSizes& s = GetParam().sizes;
  for (const auto& bias : {torch::Tensor(), random_tensor({s.heads, 9})}) {
    const AttentionCache made = random_cache(s);
    AttentionCache expected = reference::quantize_cache(rounded(made.keys), rounded(made.values));
    AttentionCache actual = quantized(made);
    const auto q = rounded(one_position(s) / 8), k = rounded(one_position(s)),
               v = rounded(one_position(s));
    const auto positions = random_positions(s);
    const auto y = reference::attention_step(q, k, v, bias, positions, expected);
    expect_close(attention_step(on_gpu(q), on_gpu(k), on_gpu(v),
                                bias.defined() ? bias.cuda() : bias, positions.cuda(), actual),
                 y, tolerance());
    expect_close(actual.keys, expected.keys, 0, "keys");
    expect_close(actual.values, expected.values, 0, "values");
    expect_close(actual.scales, expected.scales, 0, "scales");
  }
}

TEST_P(GpuInt8Cache, AttentionEqualsTheReference) {
  const StepSizes& s = GetParam().sizes;
  const AttentionCache made = random_cache(s);
  const AttentionCache expected =
      reference::quantize_cache(rounded(made.keys), rounded(made.values));
  const auto q = rounded(one_position(s) / 8), lengths = random_positions(s) + 1;
  const AttentionCache actual = quantized(made);
  expect_close(attention_to_cache(on_gpu(q), actual, {}),
               reference::attention_to_cache(q, expected, {}), tolerance());
  expect_close(attention_to_cache(on_gpu(q), actual, {lengths.cuda()}),
               reference::attention_to_cache(q, expected, {lengths}), tolerance());
}

TEST_P(GpuInt8Cache, RowsDoNotDependOnOneAnother) {
  const StepSizes& s = GetParam().sizes;
  AttentionCache made = random_cache(s);
  const auto q = on_gpu(one_position(s));
  const auto lengths = random_positions(s) + 1;
  const auto first = attention_to_cache(q, quantized(made), {lengths.cuda()});
  made.keys.slice(0, 1).normal_();
  made.values.slice(0, 1).normal_();
  auto others = torch::ones_like(lengths);
  others[0] = lengths[0];
  const auto second = attention_to_cache(q, quantized(made), {others.cuda()});
  EXPECT_TRUE(torch::equal(first[0], second[0]));
}

INSTANTIATE_TEST_SUITE_P(Gpu, GpuInt8Cache, ::testing::ValuesIn(step_cases()));

}  // namespace
}  // namespace convseq::ops
