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

TEST(AttentionStep, EqualsAttentionOverTheKeysSoFar) {
  torch::manual_seed(1);
  const StepSizes sizes{.channels = 4};
  for (const auto& bias : {torch::Tensor(), random_tensor({3, 5})}) {
    AttentionCache cache = random_cache(sizes);
    const auto keys = cache.keys.clone(), values = cache.values.clone();
    const auto q = one_position(sizes), k = one_position(sizes), v = one_position(sizes);
    const auto positions = torch::tensor({int64_t{4}, int64_t{0}});
    const auto y = attention_step(q, k, v, bias, positions, cache);
    for (int64_t row = 0; row < 2; ++row) {
      const int64_t position = positions[row].item<int64_t>();
      const auto so_far = [&](const torch::Tensor& past, const torch::Tensor& now) {
        return torch::cat({past.narrow(0, row, 1).narrow(2, 0, position), now.narrow(0, row, 1)},
                          2);
      };
      expect_close(y.narrow(0, row, 1),
                   attention(q.narrow(0, row, 1), so_far(keys, k), so_far(values, v), bias, {},
                             {.causal = true}),
                   1e-5);
      expect_close(cache.keys[row].narrow(1, position, 1), k[row], 0);
      expect_close(cache.values[row].narrow(1, position, 1), v[row], 0);
    }
  }
}

TEST(AttentionStep, RefusesWhatDoesNotFit) {
  const StepSizes sizes;
  AttentionCache cache = random_cache(sizes);
  const auto q = one_position(sizes);
  const auto positions = torch::zeros({2}, torch::kInt64);
  EXPECT_THROW(attention_step(q, q.narrow(0, 0, 1), q, {}, positions, cache), Error);
  EXPECT_THROW(attention_step(q, q, q, {}, positions.narrow(0, 0, 1), cache), Error);
}

class GpuAttentionStep : public GpuStepTest {};

TEST_P(GpuAttentionStep, EqualsTheReference) {
  const StepCase& each = GetParam();
  const StepSizes& s = each.sizes;
  for (const auto& bias : {torch::Tensor(), random_tensor({s.heads, 9})}) {
    const AttentionCache made = random_cache(s);
    AttentionCache expected{rounded(made.keys), rounded(made.values)};
    AttentionCache actual{on_gpu(made.keys), on_gpu(made.values)};
    // Small queries, so that many keys have non-negligible probabilities.
    const auto q = rounded(one_position(s) / 8), k = rounded(one_position(s)),
               v = rounded(one_position(s));
    const auto positions = random_positions(s);
    const auto y = reference::attention_step(q, k, v, bias, positions, expected);
    expect_close(attention_step(on_gpu(q), on_gpu(k), on_gpu(v),
                                bias.defined() ? bias.cuda() : bias, positions.cuda(), actual),
                 y, each.tolerance);
    expect_close(actual.keys, expected.keys, 0, "keys");
    expect_close(actual.values, expected.values, 0, "values");
  }
}

TEST_P(GpuAttentionStep, OfOneQueryEqualsTheReference) {
  const torch::NoGradGuard no_grad;
  const StepCase& each = GetParam();
  const StepSizes& s = each.sizes;
  const AttentionCache made = random_cache(s);
  const auto q = rounded(one_position(s) / 8), k = rounded(made.keys), v = rounded(made.values);
  const Lengths lengths{random_positions(s) + 1};
  for (const auto& bias : {torch::Tensor(), random_tensor({s.heads, 9})}) {
    for (const bool full : {false, true}) {
      const Lengths some = full ? Lengths{} : lengths;
      const Lengths there = full ? Lengths{} : Lengths{lengths.values.cuda()};
      expect_close(attention(on_gpu(q), on_gpu(k), on_gpu(v), bias.defined() ? bias.cuda() : bias,
                             there, {.causal = true}),
                   reference::attention(q, k, v, bias, some, {.causal = true}), each.tolerance);
    }
  }
}

TEST_P(GpuAttentionStep, BeyondTheCapacityStoresNothing) {
  const StepSizes& s = GetParam().sizes;
  const AttentionCache made = random_cache(s);
  const auto keys = on_gpu(made.keys), values = on_gpu(made.values), x = on_gpu(one_position(s));
  const auto positions = torch::full({s.batch}, s.capacity, torch::kInt64).cuda();
  for (AttentionCache cache : {AttentionCache{keys, values}, quantize_cache(keys, values)}) {
    SCOPED_TRACE(cache.keys.toString());
    std::vector<torch::Tensor> stored{cache.keys, cache.values};
    if (cache.is_int8()) stored.push_back(cache.scales);
    std::vector<torch::Tensor> before;
    for (const torch::Tensor& each : stored) before.push_back(each.clone());
    EXPECT_TRUE(attention_step(x, x, x, {}, positions, cache).isfinite().all().item<bool>());
    for (size_t i = 0; i < stored.size(); ++i) EXPECT_TRUE(torch::equal(stored[i], before[i]));
  }
}

INSTANTIATE_TEST_SUITE_P(Gpu, GpuAttentionStep, ::testing::ValuesIn(step_cases()));

}  // namespace convseq::ops
