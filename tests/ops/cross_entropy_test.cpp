#include "convseq/ops/cross_entropy.h"

#include "convseq/ops/kernel/cross_entropy.h"
#include "convseq/ops/reference/cross_entropy.h"
#include "tensor_checks.h"

namespace convseq::ops {
using convseq::testing::check_gradients;
using convseq::testing::expect_close;
using convseq::testing::random_tensor;

namespace {

constexpr int64_t kRows = 23;

struct CrossEntropyCase {
  const char* name;
  CrossEntropyOptions options;
};

const std::vector<CrossEntropyCase> kCases = {
    {"Plain", {}},
    {"Scaled", {.scale = 0.4}},
    {"Smoothed", {.scale = 1.5, .smoothing = 0.1}},
    {"ZLoss", {.z_loss = 0.01}},
    {"All", {.scale = 0.7, .smoothing = 0.2, .z_loss = 0.05}},
};

torch::Tensor some_labels(int64_t classes) {
  auto labels = torch::randint(classes, {kRows}, torch::kInt64);
  labels.slice(0, 0, kRows, 3).fill_(CrossEntropyOptions{}.ignored);
  return labels;
}

class CrossEntropyTable : public ::testing::TestWithParam<CrossEntropyCase> {
 protected:
  void SetUp() override { torch::manual_seed(5); }
};

TEST_P(CrossEntropyTable, GradientIsThatOfTheLoss) {
  const auto logits = random_tensor({kRows, 11}, torch::kFloat64);
  const auto labels = some_labels(11);
  auto options = GetParam().options;
  options.weights = torch::rand({kRows}, torch::kFloat64) * 3;
  options.gradient = torch::kFloat64;
  const auto loss_at = [&](int64_t i, double step) {
    auto moved = logits.clone();
    moved.view(-1)[i] += step;
    return cross_entropy(moved, labels, options).loss.item<double>();
  };
  const auto gradient = cross_entropy(logits.clone(), labels, options).gradient * options.scale;
  for (int64_t i = 0; i < logits.numel(); ++i) {
    const double numeric = (loss_at(i, 1e-5) - loss_at(i, -1e-5)) / 2e-5;
    EXPECT_NEAR(gradient.view(-1)[i].item<double>(), numeric, 1e-7 * (1 + std::abs(numeric))) << i;
  }
}

class GpuCrossEntropy : public CrossEntropyTable {
 protected:
  void SetUp() override {
    ASSERT_TRUE(torch::cuda::is_available()) << "this test needs a GPU";
    CrossEntropyTable::SetUp();
  }
};

// One class, odd numbers of classes, and rows that do and do not fit in the registers of a block.
TEST_P(GpuCrossEntropy, EqualsTheReferenceInFloat64) {
  for (const int64_t classes : {1, 7, 1000, 32128, 40001}) {
    const auto logits = random_tensor({kRows, classes}).to(torch::kCUDA);
    const auto labels = some_labels(classes);
    const auto weights = torch::rand({kRows});
    auto options = GetParam().options;
    options.weights = weights.to(torch::kCUDA);
    options.gradient = torch::kFloat32;
    ASSERT_TRUE(has_cross_entropy_kernel(logits));
    const auto found = cross_entropy(logits, labels.to(torch::kCUDA), options);
    options.weights = weights.to(torch::kFloat64);
    options.gradient = torch::kFloat64;
    const auto expected =
        reference::cross_entropy(logits.cpu().to(torch::kFloat64), labels, options);
    expect_close(found.loss, expected.loss, 1e-5, "loss");
    expect_close(found.nll, expected.nll, 1e-5, "nll");
    expect_close(found.z_loss, expected.z_loss, 1e-5, "z_loss");
    EXPECT_EQ(found.correct.item<int64_t>(), expected.correct.item<int64_t>());
    expect_close(found.gradient, expected.gradient, 1e-5, "gradient");
  }
}

std::string case_name(const ::testing::TestParamInfo<CrossEntropyCase>& info) {
  return info.param.name;
}

INSTANTIATE_TEST_SUITE_P(Options, CrossEntropyTable, ::testing::ValuesIn(kCases), case_name);
INSTANTIATE_TEST_SUITE_P(Gpu, GpuCrossEntropy, ::testing::ValuesIn(kCases), case_name);

}  // namespace
}  // namespace convseq::ops
