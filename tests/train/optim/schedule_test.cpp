#include "convseq/train/optim/schedule.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "convseq/base/error.h"
#include "temp_folder.h"

namespace convseq {
namespace {

struct Point {
  int64_t step;
  double learning_rate;
};

struct ScheduleCase {
  std::string name;
  ScheduleOptions options;
  std::vector<Point> by_hand;
};

const std::vector<ScheduleCase> kCases = {
    {"T5Pretraining", {}, {{0, 0.01}, {9'999, 0.01}, {10'000, 0.01}, {40'000, 0.005}}},
    {"InverseSqrtWithoutWarmup",
     {.learning_rate = 2, .warmup_steps = 0},
     {{0, 2}, {1, 2}, {4, 1}, {100, 0.2}}},
    {"InverseSqrtDecaysAtTheEnd",
     {.warmup_steps = 4, .total_steps = 100, .decay_steps = 36},
     {{0, 0.5}, {4, 0.5}, {64, 1.0 / 8}, {81, 19.0 / 36 / 9}, {100, 0}}},
    {"Constant",
     {.kind = ScheduleKind::Constant, .learning_rate = 1e-3, .warmup_steps = 0},
     {{0, 1e-3}, {1'000'000, 1e-3}}},
    {"ConstantWarmsUpAndDecays",
     {.kind = ScheduleKind::Constant,
      .learning_rate = 8,
      .warmup_steps = 4,
      .total_steps = 20,
      .decay_steps = 4},
     {{0, 2}, {1, 4}, {3, 8}, {4, 8}, {16, 8}, {17, 6}, {18, 4}, {19, 2}, {20, 0}, {99, 0}}},
    {"Linear",
     {.kind = ScheduleKind::Linear,
      .learning_rate = 10,
      .final_learning_rate = 2,
      .warmup_steps = 2,
      .total_steps = 10},
     {{0, 5}, {1, 10}, {2, 10}, {3, 9}, {6, 6}, {9, 3}, {10, 2}, {50, 2}}},
    {"Cosine",
     {.kind = ScheduleKind::Cosine,
      .learning_rate = 3,
      .final_learning_rate = 1,
      .warmup_steps = 1,
      .total_steps = 13},
     {{0, 3},
      {1, 3},
      {4, 2 + std::numbers::sqrt2 / 2},  // a quarter of the way
      {5, 2.5},                          // a third
      {7, 2},
      {9, 1.5},
      {13, 1},
      {14, 1}}},
    {"CosineDecaysAtTheEnd",
     {.kind = ScheduleKind::Cosine,
      .learning_rate = 4,
      .warmup_steps = 0,
      .total_steps = 12,
      .decay_steps = 8},
     {{0, 4}, {4, 3}, {6, 2 * 0.75}, {8, 1 * 0.5}, {12, 0}}},
};

class ScheduleTable : public ::testing::TestWithParam<ScheduleCase> {};

TEST_P(ScheduleTable, PassesThroughThePointsComputedByHand) {
  const Schedule schedule(GetParam().options);
  for (const auto& [step, expected] : GetParam().by_hand) {
    EXPECT_NEAR(schedule.learning_rate(step), expected, 1e-15 + 1e-14 * expected) << step;
  }
}

TEST_P(ScheduleTable, NoStepOfTheRunIsWastedOnARateOfZero) {
  const Schedule schedule(GetParam().options);
  for (int64_t step = 0; step < GetParam().options.total_steps; ++step) {
    EXPECT_GT(schedule.learning_rate(step), 0) << step;
  }
}

INSTANTIATE_TEST_SUITE_P(Schedules, ScheduleTable, ::testing::ValuesIn(kCases),
                         [](const auto& each) { return each.param.name; });

TEST(Schedule, RefusesImpossibleSettingsByName) {
  const std::vector<std::pair<ScheduleOptions, std::string>> refused = {
      {{.learning_rate = 0}, "schedule: the learning rate is 0; must be more than 0"},
      {{.learning_rate = NAN}, "schedule: the learning rate is nan; must be more than 0"},
      {{.warmup_steps = -1}, "schedule: the number of warm-up steps is -1; must be 0 or more"},
      {{.kind = ScheduleKind::Linear, .final_learning_rate = 2, .total_steps = 9},
       "schedule: the final learning rate is 2; must be from 0 to the learning rate, 1"},
      {{.kind = ScheduleKind::Constant, .final_learning_rate = 0.5},
       "schedule: the final learning rate is 0.5, but constant has none; use cosine or linear, or "
       "decay steps"},
      {{.kind = ScheduleKind::Cosine},
       "schedule: cosine needs a known number of steps; set it, or use inverse_sqrt or constant"},
      {{.decay_steps = 5}, "schedule: 5 decay steps without a known number of steps; set both"},
      {{.kind = ScheduleKind::Cosine, .warmup_steps = 10, .total_steps = 10},
       "schedule: 10 warm-up steps leave cosine nothing of 10 steps; warm up for less"},
      {{.total_steps = 10, .decay_steps = 11},
       "schedule: 11 decay steps are more than all 10 steps"},
  };
  for (const auto& [options, message] : refused) {
    EXPECT_EQ(testing::message_of<Error>([&, &o = options] { Schedule schedule(o); }), message);
  }
}

}  // namespace
}  // namespace convseq
