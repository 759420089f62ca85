#include "convseq/ops/select_token.h"

#include <torch/cuda.h>

#include "convseq/base/error.h"
#include "convseq/ops/reference/select_token.h"
#include "tensor_checks.h"

namespace convseq::ops {
using convseq::testing::expect_close;

namespace {

constexpr SelectTokenOptions kOptions{.eos = 1, .pad = 0};

TokenSelection start_on(torch::Device device, int64_t batch, int64_t capacity) {
  return start_selection(batch, capacity, /*start=*/7, kOptions.pad, device);
}

torch::Tensor logits_of(std::initializer_list<std::initializer_list<float>> rows) {
  std::vector<torch::Tensor> all;
  for (const auto& row : rows) all.push_back(torch::tensor(std::vector<float>(row)));
  return torch::stack(all);
}

std::vector<int64_t> values_of(const torch::Tensor& x) {
  const auto flat = x.cpu().to(torch::kInt64).contiguous();
  return {flat.data_ptr<int64_t>(), flat.data_ptr<int64_t>() + flat.numel()};
}

}  // namespace

TEST(SelectToken, AppendsTheLikeliestTokenAndItsLogProbability) {
  auto selection = start_on(torch::kCPU, 2, 3);
  const auto logits = logits_of({{0, 1, 2, 0}, {0, 0, 0, 5}});
  select_token(logits, kOptions, selection);
  EXPECT_EQ(values_of(selection.ids), (std::vector<int64_t>{2, 0, 0, 3, 0, 0}));
  EXPECT_EQ(values_of(selection.next), (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(values_of(selection.lengths), (std::vector<int64_t>{1, 1}));
  const double total = 2 + std::exp(1.0) + std::exp(2.0);
  EXPECT_NEAR(selection.log_probabilities[0][0].item<double>(), 2 - std::log(total), 1e-6);
  EXPECT_EQ(selection.log_probabilities[0][1].item<double>(), 0);
}

TEST(SelectToken, TakesTheLowestIdOnTies) {
  auto selection = start_on(torch::kCPU, 2, 1);
  select_token(logits_of({{3, 0, 3, 3}, {0, 2, 2, 1}}), kOptions, selection);
  EXPECT_EQ(values_of(selection.next), (std::vector<int64_t>{0, 1}));
}

TEST(SelectToken, LeavesEndedAndFullRowsAsTheyAre) {
  auto selection = start_on(torch::kCPU, 2, 2);
  select_token(logits_of({{0, 9, 0}, {0, 0, 9}}), kOptions, selection);  // row 0 ends
  for (int i = 0; i < 3; ++i) {
    select_token(logits_of({{0, 0, 9}, {0, 0, 9}}).unsqueeze(1), kOptions, selection);
  }
  EXPECT_EQ(values_of(selection.ids), (std::vector<int64_t>{1, 0, 2, 2}));
  EXPECT_EQ(values_of(selection.lengths), (std::vector<int64_t>{1, 2}));
  EXPECT_EQ(values_of(selection.ended), (std::vector<int64_t>{1, 0}));
  EXPECT_EQ(values_of(selection.next), (std::vector<int64_t>{0, 0}));
}

TEST(SelectToken, RefusesLogitsOfOtherRows) {
  auto selection = start_on(torch::kCPU, 2, 2);
  EXPECT_THROW(select_token(torch::zeros({3, 4}), kOptions, selection), Error);
}

TEST(GpuSelectToken, EqualsTheReferenceAlsoWithTies) {
  ASSERT_TRUE(torch::cuda::is_available()) << "this test needs a GPU";
  torch::manual_seed(1);
  for (const auto dtype : {torch::kFloat32, torch::kBFloat16}) {
    for (const int64_t batch : {1, 2, 7, 64, 70}) {
      for (const int64_t classes : {1, 2, 31, 1000, 32128, 32131}) {
        auto expected = start_on(torch::kCPU, batch, 4), actual = start_on(torch::kCUDA, batch, 4);
        for (int step = 0; step < 5; ++step) {
          // Few distinct values, so that the maximum occurs several times.
          const auto logits = torch::randint(-40, 41, {batch, classes}).to(dtype) / 8;
          reference::select_token(logits, kOptions, expected);
          select_token(logits.to(torch::kCUDA), kOptions, actual);
        }
        const auto what = fmt::format("{} rows of {}", batch, classes);
        EXPECT_TRUE(torch::equal(actual.ids.cpu(), expected.ids)) << what;
        EXPECT_TRUE(torch::equal(actual.lengths.cpu(), expected.lengths)) << what;
        EXPECT_TRUE(torch::equal(actual.ended.cpu(), expected.ended)) << what;
        EXPECT_TRUE(torch::equal(actual.next.cpu(), expected.next)) << what;
        expect_close(actual.log_probabilities, expected.log_probabilities, 1e-5, what);
      }
    }
  }
}

}  // namespace convseq::ops
