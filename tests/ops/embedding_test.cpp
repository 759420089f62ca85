#include "convseq/ops/embedding.h"

#include <gtest/gtest.h>
#include <torch/autograd.h>
#include <torch/cuda.h>
#include <torch/types.h>
#include <torch/utils.h>

#include "convseq/base/error.h"
#include "convseq/kernels/embedding.h"
#include "convseq/ops/kernel/cuda_launch.h"
#include "tensor_checks.h"

namespace convseq::ops {
namespace {

using convseq::testing::expect_close;
using convseq::testing::random_tensor;

constexpr int64_t kRows = 1200;

enum class Draw { Few, Equal, Different, Padding };

torch::Tensor draw_ids(Draw draw, int64_t count) {
  switch (draw) {
    case Draw::Few:  // runs of many lengths: the frequency of id i is about 1 / i
      return (torch::rand({count}) * std::log(100.0)).exp().to(torch::kInt64);
    case Draw::Equal:
      return torch::full({count}, kRows - 1, torch::kInt64);
    case Draw::Different:
      return torch::randperm(kRows, torch::kInt64).slice(0, 0, count);
    case Draw::Padding:
      return torch::randint(kRows, {count}, torch::kInt64) *
             (torch::rand({count}) < 0.3).to(torch::kInt64);
  }
  fail("no such draw");
}

struct Found {
  torch::Tensor output, gradient;
};

// The output, and the gradient of sum(output · dy) with respect to the table.
Found run(const torch::Tensor& table, const torch::Tensor& ids, const torch::Tensor& dy) {
  const auto leaf = table.detach().requires_grad_();
  const auto output = ops::embedding(leaf, ids);
  return {output.detach(), torch::autograd::grad({output}, {leaf}, {dy})[0]};
}

torch::Tensor index_add(const torch::Tensor& table, const torch::Tensor& ids,
                        const torch::Tensor& dy) {
  return torch::zeros(table.sizes(), torch::dtype(torch::kFloat64))
      .index_add(0, ids.cpu().flatten().to(torch::kInt64),
                 dy.cpu().to(torch::kFloat64).flatten(0, -2));
}

// The sum is computed in fp32 and rounded once.
double tolerance(const torch::TensorOptions& options) {
  return options.dtype() == torch::kFloat32 ? 1e-5 : 1.0 / 250;
}

void expect_equal_to_float64(int64_t count, int64_t channels, Draw draw,
                             const torch::TensorOptions& options) {
  const auto table = random_tensor({kRows, channels}).to(options);
  // The gradient of a row sums over up to `count` positions; this scale keeps it near 1.
  const double scale = 1 / std::sqrt(std::max(static_cast<double>(count), 1.0));
  const auto dy = (random_tensor({count, channels}) * scale).to(options);
  const auto ids = draw_ids(draw, count).to(table.device());
  const auto found = run(table, ids, dy), again = run(table, ids, dy);
  EXPECT_TRUE(torch::equal(found.output, table.index_select(0, ids)));
  EXPECT_TRUE(torch::equal(found.gradient, again.gradient));
  expect_close(found.gradient, index_add(table, ids, dy), tolerance(options));
}

class Embedding : public ::testing::TestWithParam<std::tuple<int64_t, int64_t, Draw>> {};

TEST_P(Embedding, GradientEqualsFloat64OnACpu) {
  const auto [count, channels, draw] = GetParam();
  expect_equal_to_float64(count, channels, draw, torch::kFloat32);
  expect_equal_to_float64(count, channels, draw, torch::kBFloat16);
}

// A running sum in bf16 would stop growing over this many positions.
TEST(EmbeddingInBf16, GradientOfAFrequentIdEqualsFloat64OnACpu) {
  torch::manual_seed(5);
  const auto table = random_tensor({8, 16}).to(torch::kBFloat16);
  const auto ids = torch::randint(2, {20000}, torch::kInt64);
  const auto dy = (random_tensor({20000, 16}) + 1).to(torch::kBFloat16);
  expect_close(run(table, ids, dy).gradient, index_add(table, ids, dy),
               tolerance(torch::kBFloat16));
}

constexpr Draw kDraws[] = {Draw::Few, Draw::Equal, Draw::Different, Draw::Padding};

INSTANTIATE_TEST_SUITE_P(Sizes, Embedding,
                         ::testing::Combine(::testing::Values(0, 1, 33), ::testing::Values(1, 8),
                                            ::testing::ValuesIn(kDraws)));

class GpuEmbedding : public Embedding {
 protected:
  void SetUp() override {
    ASSERT_TRUE(torch::cuda::is_available()) << "this test needs a GPU";
    torch::manual_seed(5);
  }
};

TEST_P(GpuEmbedding, GradientEqualsFloat64) {
  const auto [count, channels, draw] = GetParam();
  for (const auto type : {torch::kFloat32, torch::kBFloat16}) {
    expect_equal_to_float64(count, channels, draw, torch::TensorOptions(torch::kCUDA).dtype(type));
  }
}

INSTANTIATE_TEST_SUITE_P(Gpu, GpuEmbedding,
                         ::testing::Combine(::testing::Values(0, 1, 31, 32, 33, 64, 65, 1000),
                                            ::testing::Values(1, 7, 8, 768, 1030),
                                            ::testing::ValuesIn(kDraws)));

class GpuEmbeddingTable : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(torch::cuda::is_available()) << "this test needs a GPU";
    torch::manual_seed(5);
  }
  const torch::TensorOptions fp32 = torch::TensorOptions(torch::kCUDA).dtype(torch::kFloat32);
  const torch::TensorOptions bf16 = fp32.dtype(torch::kBFloat16);
};

// The batch has more windows than a block of the second kernel reads in one iteration.
TEST_F(GpuEmbeddingTable, ALargeBatchThatIsMostlyPadding) {
  const auto table = random_tensor({kRows, 768}).to(bf16);
  const auto ids = draw_ids(Draw::Padding, 32000).view({20, 1600}).to(torch::kCUDA);
  const auto dy = (random_tensor({20, 1600, 768}) / 100).to(bf16);
  const auto found = run(table, ids, dy), again = run(table, ids, dy);
  EXPECT_TRUE(torch::equal(found.gradient, again.gradient));
  expect_close(found.gradient, index_add(table, ids, dy), tolerance(bf16));
}

TEST_F(GpuEmbeddingTable, MayHaveMoreRowsThanSixteenBitsCount) {
  const auto table = random_tensor({70000, 8}).to(bf16);
  const auto ids = torch::randint(69000, 70000, {3, 700}, torch::kInt32).to(torch::kCUDA);
  const auto dy = (random_tensor({3, 700, 8}) / 10).to(bf16);
  expect_close(run(table, ids, dy).gradient, index_add(table, ids, dy), tolerance(bf16));
}

TEST_F(GpuEmbeddingTable, TakesGradientsThatAreNeitherContiguousNorAligned) {
  const auto table = random_tensor({kRows, 8}).to(bf16);
  const auto ids = draw_ids(Draw::Few, 100).to(torch::kCUDA);
  const auto expanded = random_tensor({100, 1}).to(bf16).expand({100, 8});
  expect_close(run(table, ids, expanded).gradient, index_add(table, ids, expanded),
               tolerance(bf16));
  const auto shifted = (random_tensor({801}) / 10).to(bf16).narrow(0, 1, 800).view({100, 8});
  expect_close(run(table, ids, shifted).gradient, index_add(table, ids, shifted), tolerance(bf16));
}

TEST_F(GpuEmbeddingTable, RefusesASecondDerivative) {
  const auto table = random_tensor({kRows, 8}).to(fp32).requires_grad_();
  const auto rows = ops::embedding(table, draw_ids(Draw::Few, 50).to(torch::kCUDA));
  EXPECT_THROW(torch::autograd::grad({rows.square().sum()}, {table}, {}, /*retain_graph=*/true,
                                     /*create_graph=*/true),
               Error);
}

// Runs within one window and across windows, with ids below 0 and beyond the last row.
TEST_F(GpuEmbeddingTable, LeavesOutIdsBeyondIt) {
  const int64_t rows = 3, channels = 8;
  const auto runs = torch::tensor({5, 70, 10, 1, 40, 9, 70, 2});
  const auto sorted = torch::tensor({-7, -1, 0, 1, 2, 3, 4, 1000000000}, torch::kInt32)
                          .repeat_interleave(runs)
                          .to(torch::kCUDA);
  const auto order = torch::randperm(sorted.numel(), torch::kInt64).to(torch::kCUDA);
  const auto dy = random_tensor({sorted.numel(), channels}).to(fp32) / 10;
  const auto all = torch::zeros({rows + 2, channels}, fp32);  // one guard row on either side
  const auto table = all.slice(0, 1, rows + 1);
  const kernels::EmbeddingShape shape{.ids = sorted.numel(), .rows = rows, .channels = channels};
  const auto workspace =
      torch::empty({static_cast<int64_t>(kernels::embedding_backward_workspace_cuda(shape))},
                   fp32.dtype(torch::kUInt8));
  kernels::embedding_backward_cuda(shape,
                                   {.sorted = sorted.const_data_ptr<int32_t>(),
                                    .order = order.const_data_ptr<int64_t>(),
                                    .dy = dy.const_data_ptr(),
                                    .table = table.mutable_data_ptr(),
                                    .workspace = workspace.mutable_data_ptr()},
                                   current_cuda_stream());
  const auto real = (sorted >= 0).logical_and(sorted < rows);
  const auto expected =
      index_add(all, sorted.masked_select(real) + 1, dy.index_select(0, order.masked_select(real)));
  expect_close(all, expected, tolerance(fp32));
}

}  // namespace
}  // namespace convseq::ops
