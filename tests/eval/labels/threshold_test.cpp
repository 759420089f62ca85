#include "convseq/eval/labels/threshold.h"

#include <gtest/gtest.h>

namespace convseq {
namespace {

// Precision and recall at each threshold: 0.9: 1, 0.2; 0.8: 2/3, 0.4; 0.6: 3/4, 0.6; 0.55: 3/5,
// 0.6; 0.4: 4/7, 0.8; 0.3: 1/2, 0.8; 0.2: 5/9, 1; 0.1: 1/2, 1.
const std::vector<double> kProbabilities = {0.9, 0.8, 0.8, 0.6, 0.55, 0.4, 0.4, 0.3, 0.2, 0.1};
const std::vector<bool> kTruths = {1, 1, 0, 1, 0, 1, 0, 0, 1, 0};

std::optional<double> fitted(ThresholdGoal goal, double value = 0) {
  return fit_threshold({.goal = goal, .value = value}, kProbabilities, kTruths);
}

}  // namespace

TEST(Threshold, ForAPrecisionHasTheHighestRecall) {
  EXPECT_NEAR(*fitted(ThresholdGoal::Precision, 0.7), (0.6 + 0.55) / 2, 1e-12);
  EXPECT_NEAR(*fitted(ThresholdGoal::Precision, 0.9), (0.9 + 0.8) / 2, 1e-12);
  EXPECT_NEAR(*fitted(ThresholdGoal::Precision, 0.5), 0.05, 1e-12);  // all examples
}

TEST(Threshold, ForARecallIsTheHighestThatReachesIt) {
  EXPECT_NEAR(*fitted(ThresholdGoal::Recall, 0.6), (0.6 + 0.55) / 2, 1e-12);
  EXPECT_NEAR(*fitted(ThresholdGoal::Recall, 0.7), (0.4 + 0.3) / 2, 1e-12);
  EXPECT_NEAR(*fitted(ThresholdGoal::Recall, 1), (0.2 + 0.1) / 2, 1e-12);
}

TEST(Threshold, ForF1IsTheBest) {  // 2 · 5 / (9 + 5) = 0.714 at 0.2
  EXPECT_NEAR(*fitted(ThresholdGoal::F1), (0.2 + 0.1) / 2, 1e-12);
}

TEST(Threshold, ThatCannotBeIsNone) {
  EXPECT_FALSE(fit_threshold({.goal = ThresholdGoal::Precision, .value = 0.9}, kProbabilities,
                             {0, 0, 0, 1, 1, 1, 1, 1, 1, 1}));
  EXPECT_FALSE(fit_threshold({.goal = ThresholdGoal::F1}, kProbabilities, std::vector<bool>(10)));
}

}  // namespace convseq
