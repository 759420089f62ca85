#include "convseq/eval/labels/temperature.h"

#include <gtest/gtest.h>

#include <cmath>

namespace convseq {

// The expected values are minima of the negative log-likelihood found by scipy.
TEST(Temperature, OfASoftmaxMaximisesTheLikelihood) {
  const std::vector<std::vector<double>> scores = {{2, 0, -1}, {3, 2.5, 0}, {0, 4, 1}, {1, 3, 0},
                                                   {0, 1, 3},  {1, 1, 2.5}, {0, 0, 4}, {3, 0, 2},
                                                   {0, -1, 3}, {2, 1, 0}};
  const std::vector<std::vector<size_t>> truths = {{0}, {0}, {1}, {1}, {1},
                                                   {2}, {2}, {2}, {2}, {0}};
  EXPECT_NEAR(fit_temperature(LabelKind::Single, scores, truths), 0.9737214512982033, 1e-6);
}

TEST(Temperature, OfSigmoidsMaximisesTheLikelihood) {
  std::vector<std::vector<double>> scores = {{.8, .1, .2},  {.6, .4, .1}, {.3, .2, .05},
                                             {.55, .7, .1}, {.9, .2, .3}, {.1, .6, .02},
                                             {.4, .9, .6},  {.2, .3, .1}};
  for (auto& row : scores) {
    for (double& each : row) each = 2 * std::log(each / (1 - each));
  }
  const std::vector<std::vector<size_t>> truths = {{0}, {0, 1}, {}, {1}, {0, 2}, {}, {0, 1}, {1}};
  EXPECT_NEAR(fit_temperature(LabelKind::Multi, scores, truths), 1.5164967994094003, 1e-6);
}

TEST(Temperature, StaysWithinItsLimitsWhereEveryAnswerIsRightOrWrong) {
  const std::vector<std::vector<double>> scores = {{2, 0}, {0, 1}};
  EXPECT_NEAR(fit_temperature(LabelKind::Single, scores, {{0}, {1}}), kLowestTemperature, 1e-9);
  EXPECT_NEAR(fit_temperature(LabelKind::Single, scores, {{1}, {0}}), kHighestTemperature, 1e-9);
}

}  // namespace convseq
