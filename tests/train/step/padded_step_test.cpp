#include <gtest/gtest.h>

#include "train/step/learner.h"

// Padding batches to few shapes must not change the updates, nor must replaying a step instead of
// launching it.
namespace convseq {
using testing::expect_same_weights;
using testing::Learner;
using testing::learner_batch;

namespace {

struct Case {
  std::string family;
  bool pooled = false;
  bool label_sets = false;
  bool frozen = false;
  bool weighted = false;
  int64_t micro_batch = 0;
};

std::string describe(const Case& each) {
  return fmt::format("{}{}{}{}{} micro-batch {}", each.family, each.pooled ? " pooled" : "",
                     each.label_sets ? " label sets" : "", each.frozen ? " frozen" : "",
                     each.weighted ? " weighted" : "", each.micro_batch);
}

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const std::string& family : preset_families()) all.push_back({.family = family});
  all.push_back({.family = "paper-light", .pooled = true});
  all.push_back({.family = "paper-transformer", .pooled = true, .weighted = true});
  all.push_back({.family = "paper-light", .pooled = true, .label_sets = true, .weighted = true});
  all.push_back({.family = "paper-dynamic", .frozen = true});
  all.push_back({.family = "paper-light", .weighted = true, .micro_batch = 2});
  all.push_back({.family = "paper-transformer", .micro_batch = 3});
  return all;
}

constexpr int64_t kClasses = 3;

// The targets of a head: a class, or a 0 or 1 for each class.
int64_t head_width(const Case& each) { return each.label_sets ? kClasses : 1; }

// A batch of rows of different lengths, as in fine-tuning.
Batch ragged(const Case& each, int64_t rows, int64_t source, int64_t target) {
  Batch batch = learner_batch(rows, source, each.pooled ? head_width(each) : target);
  for (int64_t row = 1; row < rows; ++row) {
    const auto i = static_cast<size_t>(row);
    batch.source_lengths[i] -= row % source;
    if (!each.pooled) batch.target_lengths[i] -= row % target;
  }
  if (each.pooled) {
    for (int64_t& label : batch.target) label %= each.label_sets ? 2 : kClasses;
  }
  if (each.weighted) {
    for (int64_t row = 0; row < rows; ++row)
      batch.weights.push_back(0.5 + static_cast<double>(row));
  }
  return batch;
}

Learner learner(const Case& each, torch::Device device, torch::Dtype type,
                const TrainStepOptions& given, const std::vector<std::string>& more = {}) {
  TrainStepOptions options = given;
  options.pooled = each.pooled;
  std::vector<std::string> overrides = more;
  if (each.pooled) {
    overrides.insert(overrides.end(), {fmt::format("classes={}", kClasses), "decoder_layers=0"});
  }
  if (each.label_sets) {
    overrides.push_back("label_kind=multi");
    options.positive_weights = torch::tensor({1.0, 2.5, 0.5});
  }
  // With a large eps, gradients near zero, whose sign is rounding noise, have little effect.
  return {each.family + "-tiny", device,    type,       {.eps = 1e-2}, options,
          /*d_kv=*/64,           overrides, each.frozen};
}

void expect_padding_to_change_nothing(torch::Device device, torch::Dtype type, double tolerance,
                                      const std::vector<std::string>& overrides = {}) {
  for (const Case& each : cases()) {
    SCOPED_TRACE(describe(each));
    torch::manual_seed(3);
    std::vector<Batch> plain, wide;
    for (const int64_t width : {9, 12, 5, 9, 12, 5}) {
      plain.push_back(ragged(each, 4, width, 3));
      wide.push_back(padded(
          plain.back(), {.rows = 6, .source = 14, .target = each.pooled ? head_width(each) : 5}));
    }
    Learner expected = learner(each, device, type, {.graph = false}, overrides);
    Learner found = learner(each, device, type, {.capture = {.tune_matmuls = false}}, overrides);
    const auto expected_steps = expected.learn(plain, each.micro_batch);
    const auto found_steps = found.learn(wide, each.micro_batch);
    for (size_t i = 0; i < plain.size(); ++i) {
      const StepResult &a = found_steps[i], &b = expected_steps[i];
      EXPECT_NEAR(a.loss, b.loss, tolerance * std::abs(b.loss)) << i;
      EXPECT_NEAR(a.nll, b.nll, tolerance * std::abs(b.nll)) << i;
      EXPECT_NEAR(a.gradient_norm, b.gradient_norm, 2 * tolerance * b.gradient_norm) << i;
      EXPECT_EQ(a.source_tokens, b.source_tokens);
      EXPECT_EQ(a.target_tokens, b.target_tokens);
    }
    expect_same_weights(found, expected, tolerance);
  }
}

TEST(PaddedStep, LearnsAsTheUnpaddedOneDoes) {
  expect_padding_to_change_nothing(torch::kCPU, torch::kFloat64, 1e-9);
}

// Without ReLU: rounding in fp32 can move a value across its kink, where the gradient jumps.
TEST(PaddedStep, InFp32ItLearnsAsTheUnpaddedOneDoes) {
  expect_padding_to_change_nothing(torch::kCPU, torch::kFloat32, 1e-4, {"ffn=gated_gelu"});
}

class GpuPaddedStep : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(torch::cuda::is_available()) << "this test needs a GPU"; }

  static std::vector<Batch> of_three_shapes(const Case& each, int count) {
    std::vector<Batch> batches;
    for (int i = 0; i < count; ++i) {
      const Batch batch = ragged(each, 4, 5 + i % 3 * 4, 3);
      batches.push_back(padded(batch, {.rows = 4, .source = 6 + i % 3 * 4, .target = 4}));
      if (each.pooled) {
        batches.back() = padded(batch, {.rows = 4, .source = 20, .target = head_width(each)});
      }
    }
    return batches;
  }
};

TEST_F(GpuPaddedStep, LearnsAsTheUnpaddedOneDoes) {
  expect_padding_to_change_nothing(torch::kCUDA, torch::kFloat32, 1e-3);
}

TEST_F(GpuPaddedStep, InBf16ItLearnsAsTheUnpaddedOneDoes) {
  expect_padding_to_change_nothing(torch::kCUDA, torch::kBFloat16, 2e-2);
}

// Launched and replayed steps run the same kernels in the same order, so the results are
// bit-identical. Two graphs for three shapes, so that some are dropped and captured again.
TEST_F(GpuPaddedStep, ReplayedOrLaunchedItLearnsTheSameBitForBit) {
  for (const Case& each : cases()) {
    SCOPED_TRACE(describe(each));
    torch::manual_seed(3);
    const auto batches = of_three_shapes(each, 15);
    const TrainStepOptions options{.capture = {.max_graphs = 2, .tune_matmuls = false}};
    Learner replayed = learner(each, torch::kCUDA, torch::kBFloat16, options);
    Learner launched = learner(each, torch::kCUDA, torch::kBFloat16, {.graph = false});
    const auto found = replayed.learn(batches, each.micro_batch);
    const auto expected = launched.learn(batches, each.micro_batch);
    for (size_t i = 0; i < batches.size(); ++i) EXPECT_EQ(found[i].loss, expected[i].loss) << i;
    expect_same_weights(replayed, launched, 0);
    EXPECT_GT(replayed.step->captures().replayed, 0);
    EXPECT_EQ(launched.step->captures().captures, 0);
  }
}

// Compares only the forward pass, because with dropout libtorch's attention accumulates gradients
// in no fixed order.
TEST_F(GpuPaddedStep, ReplayedOrLaunchedItDropsTheSameValues) {
  for (const Case& each : cases()) {
    SCOPED_TRACE(describe(each));
    torch::manual_seed(3);
    auto batches = of_three_shapes(each, 12);
    batches[3] = batches[0];
    const std::vector<std::string> dropout = {"dropout=0.3", "tap_dropout=0.2"};
    const TrainStepOptions options{.capture = {.tune_matmuls = false}};
    Learner replayed = learner(each, torch::kCUDA, torch::kFloat32, options, dropout);
    Learner launched = learner(each, torch::kCUDA, torch::kFloat32, {.graph = false}, dropout);
    replayed.learning_rate = launched.learning_rate = 0;
    const auto found = replayed.learn(batches, each.micro_batch);
    const auto expected = launched.learn(batches, each.micro_batch);
    for (size_t i = 0; i < batches.size(); ++i) {
      EXPECT_NEAR(found[i].loss, expected[i].loss, 1e-6 * expected[i].loss) << i;
    }
    EXPECT_NE(found[0].loss, found[3].loss);  // the same batch, another seed
    EXPECT_GT(replayed.step->captures().replayed, 0);
  }
}

}  // namespace
}  // namespace convseq
