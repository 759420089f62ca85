#include "convseq/eval/statistics/estimate.h"

#include <gtest/gtest.h>

#include <cmath>

#include "convseq/base/error.h"
#include "convseq/base/random.h"

namespace convseq {
namespace {

// Standard deviations of the effects, and how many of each are drawn.
struct Design {
  const char* name;
  int groups, runs_per_group, examples;
  double group, run, example, residual;
  double most_coverage = 0.97;  // with runs and examples alike three runs may cover a little more
};

std::vector<double> draw_effects(Random& random, int count, double deviation) {
  std::vector<double> effects(static_cast<size_t>(count));
  for (double& effect : effects) effect = deviation * random.normal();
  return effects;
}

SystemScores draw_scores(Random& random, const Design& design, double mean,
                         const std::vector<double>& example_effects) {
  SystemScores scores;
  for (int g = 0; g < design.groups; ++g) {
    const double group = mean + design.group * random.normal();
    auto& runs = scores.groups.emplace_back();
    for (int r = 0; r < design.runs_per_group; ++r) {
      const double run = group + design.run * random.normal();
      auto& row = runs.emplace_back(example_effects);
      for (double& score : row) score += run + design.residual * random.normal();
    }
  }
  return scores;
}

// Right or wrong, with a probability that runs and examples shift.
SystemScores to_outcomes(Random& random, SystemScores scores) {
  for (auto& group : scores.groups) {
    for (auto& run : group) {
      for (double& score : run) score = random.uniform() < score ? 1 : 0;
    }
  }
  return scores;
}

bool holds(const Estimate& estimate, double truth) {
  return estimate.interval.low <= truth && truth <= estimate.interval.high;
}

constexpr int kSimulations = 4000;

// How often the interval that `estimate` computes in a simulation holds the true value.
double coverage(const std::function<bool(Random&)>& simulate) {
  int held = 0;
  for (int i = 0; i < kSimulations; ++i) {
    Random random(7, {static_cast<uint64_t>(i)});
    held += simulate(random);
  }
  return static_cast<double>(held) / kSimulations;
}

class IntervalCoverage : public ::testing::TestWithParam<Design> {};

void expect_nominal(double share, double most = 0.97) {
  EXPECT_GT(share, 0.93);
  EXPECT_LT(share, most);
}

// The pre-trainings from which a model was fine-tuned, by task.
using Pretrainings = std::vector<std::vector<int64_t>>;

Pretrainings repeated(size_t tasks, const std::vector<int64_t>& seeds) {
  return Pretrainings(tasks, seeds);
}

Pretrainings operator+(Pretrainings first, const Pretrainings& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

struct SharedDesign {
  const char* name;
  Pretrainings tasks;
  double most_coverage = 0.97;
};

class SharedPretrainings : public ::testing::TestWithParam<SharedDesign> {};

// Of the interval of a mean over tasks, to all of which a pre-training adds the same.
double coverage_of_shared(const SharedDesign& shared) {
  return coverage([&](Random& random) {
    Design design{"", 0, 2, 30, 0, 0.2, 0.5, 0.3};
    const auto effects = draw_effects(random, 8, 0.3);
    std::vector<SystemScores> tasks;
    for (const auto& seeds : shared.tasks) {
      const auto examples = draw_effects(random, design.examples, design.example);
      design.groups = static_cast<int>(seeds.size());
      SystemScores& scores = tasks.emplace_back(draw_scores(random, design, 0.7, examples));
      scores.group_ids = seeds;
      for (size_t g = 0; g < seeds.size(); ++g) {
        for (auto& run : scores.groups[g]) {
          for (double& score : run) score += effects[static_cast<size_t>(seeds[g])];
        }
      }
    }
    std::vector<WeightedSystem> systems;
    for (const SystemScores& scores : tasks) {
      systems.push_back({.scores = &scores,
                         .weight = 1.0 / static_cast<double>(tasks.size()),
                         .example_set = std::ssize(systems)});
    }
    return holds(estimate_sum(systems), 0.7);
  });
}

}  // namespace

TEST_P(IntervalCoverage, OfAMeanIs95Percent) {
  const Design& design = GetParam();
  expect_nominal(coverage([&](Random& random) {
                   const auto examples = draw_effects(random, design.examples, design.example);
                   return holds(estimate_mean(draw_scores(random, design, 0.7, examples)), 0.7);
                 }),
                 design.most_coverage);
}

TEST_P(IntervalCoverage, OfAPairedDifferenceWithAKnownEffectIs95Percent) {
  const Design& design = GetParam();
  expect_nominal(coverage([&](Random& random) {
                   // What both systems find hard is common; a part of it is their own.
                   const auto common = draw_effects(random, design.examples, 5 * design.example);
                   auto first = common, second = common;
                   const auto own =
                       draw_effects(random, 2 * design.examples, design.example / std::sqrt(2));
                   for (size_t e = 0; e < common.size(); ++e) {
                     first[e] += own[2 * e];
                     second[e] += own[2 * e + 1];
                   }
                   return holds(estimate_difference(draw_scores(random, design, 0.75, first),
                                                    draw_scores(random, design, 0.7, second)),
                                0.05);
                 }),
                 design.most_coverage);
}

INSTANTIATE_TEST_SUITE_P(
    Designs, IntervalCoverage,
    ::testing::Values(Design{"three_seeds_dominant", 3, 1, 100, 0, 1, 0.5, 0.5},
                      Design{"three_seeds_examples_dominant", 3, 1, 100, 0, 0.02, 1, 0.3},
                      Design{"three_seeds_equal", 3, 1, 100, 0, 0.17, 1, 0.5},
                      Design{"three_seeds_ten_times_examples", 3, 1, 100, 0, 0.5, 1, 0.5},
                      Design{"three_seeds_a_tenth_of_examples", 3, 1, 100, 0, 0.05, 1, 0.5},
                      Design{"five_seeds_dominant", 5, 1, 100, 0, 1, 0.5, 0.5},
                      Design{"five_seeds_examples_dominant", 5, 1, 100, 0, 0.02, 1, 0.3},
                      Design{"five_seeds_equal", 5, 1, 100, 0, 0.22, 1, 0.5},
                      Design{"three_groups_dominant", 3, 2, 50, 1, 0.3, 0.5, 0.5},
                      Design{"three_groups_of_two_runs_dominant", 3, 2, 50, 0, 1, 0.5, 0.5},
                      Design{"three_groups_equal", 3, 2, 50, 0.2, 0.2, 1, 0.5, 0.975},
                      Design{"three_groups_examples_dominant", 3, 2, 50, 0.02, 0.02, 1, 0.3}),
    [](const auto& instance) { return std::string(instance.param.name); });

TEST(Estimate, CoversTheTrueAccuracyOfRightAndWrongAnswers) {
  const Design design{"", 5, 1, 200, 0, 0.03, 0.15, 0};
  expect_nominal(coverage([&](Random& random) {
    const auto examples = draw_effects(random, design.examples, design.example);
    const auto scores = to_outcomes(random, draw_scores(random, design, 0.5, examples));
    return holds(estimate_mean(scores), 0.5);
  }));
}

TEST(Estimate, CoversADifferenceOfSystemsWithUnequalSpread) {
  const Design steady{"", 5, 1, 100, 0, 0.1, 0.5, 0.5}, unsteady{"", 3, 1, 100, 0, 0.3, 0.5, 0.5};
  expect_nominal(coverage([&](Random& random) {
    const auto examples = draw_effects(random, steady.examples, steady.example);
    return holds(estimate_difference(draw_scores(random, steady, 0.75, examples),
                                     draw_scores(random, unsteady, 0.7, examples)),
                 0.05);
  }));
}

TEST(Estimate, CoversAMeanOverTasksThatShareTheirPretrainings) {
  expect_nominal(coverage_of_shared({.name = "", .tasks = repeated(4, {1, 2, 3})}));
}

TEST_P(SharedPretrainings, CoverAMeanOverTasksThatHaveUnequalSetsOfThem) {
  expect_nominal(coverage_of_shared(GetParam()), GetParam().most_coverage);
}

// Where two of three pre-trainings decide, the interval covers a little more.
INSTANTIATE_TEST_SUITE_P(
    Designs, SharedPretrainings,
    ::testing::Values(
        SharedDesign{"one_task_lacks_one", repeated(13, {1, 2, 3}) + repeated(1, {1, 2})},
        SharedDesign{"one_task_has_one", repeated(13, {1, 2, 3}) + repeated(1, {2})},
        SharedDesign{"two_tasks_lack_several",
                     repeated(8, {1, 2, 3, 4, 5}) + repeated(1, {1, 2, 3}) + repeated(1, {4, 5})},
        SharedDesign{"each_task_lacks_another_one",
                     repeated(2, {1, 2}) + repeated(2, {2, 3}) + repeated(2, {1, 3})},
        SharedDesign{"no_task_shares_one", repeated(3, {1, 2}) + repeated(3, {3, 4})},
        SharedDesign{"half_lack_one", repeated(5, {1, 2, 3}) + repeated(5, {1, 2}), 0.98},
        SharedDesign{"half_share_one_of_two", repeated(5, {1, 2}) + repeated(5, {2, 3}), 0.98},
        SharedDesign{"half_have_one", repeated(5, {1, 2, 3}) + repeated(5, {1})}),
    [](const auto& instance) { return std::string(instance.param.name); });

TEST(Estimate, GroupsAreSharedByTheirIdsNotByTheirPlaces) {
  const SystemScores first{{{{0.5}}, {{0.7}}}, {1, 2}}, second{{{{0.7}}, {{0.5}}}, {2, 3}};
  const std::vector<WeightedSystem> both = {{&first, 0.5, 0}, {&second, 0.5, 1}};
  EXPECT_GT(estimate_sum(both).standard_error, 0.05);  // group 2 lifts both
  const SystemScores turned{{{{0.5}}, {{0.7}}}, {2, 1}};
  const SystemScores same{{{{0.7}}, {{0.5}}}, {1, 2}};
  EXPECT_EQ(estimate_sum(std::vector<WeightedSystem>{{&turned, 0.5, 0}, {&same, 0.5, 1}}).interval,
            estimate_sum(std::vector<WeightedSystem>{{&same, 0.5, 0}, {&same, 0.5, 1}}).interval);
}

TEST(Estimate, OfMetricValuesIsTheUsualTInterval) {
  // mean 3, standard deviation sqrt(2.5), t(4) = 2.776445
  const Estimate estimate = estimate_mean({{{{1}}, {{2}}, {{3}}, {{4}}, {{5}}}});
  EXPECT_DOUBLE_EQ(estimate.value, 3);
  EXPECT_NEAR(estimate.interval.high, 3 + 2.776445105 * std::sqrt(0.5), 1e-6);
  EXPECT_TRUE(estimate.counts_runs);
  EXPECT_FALSE(estimate.counts_examples);
}

TEST(Estimate, OfOneRunCountsExamplesOnly) {
  const Estimate estimate = estimate_mean({{{{1, 0, 1, 1}}}});
  EXPECT_DOUBLE_EQ(estimate.value, 0.75);
  EXPECT_NEAR(estimate.standard_error, 0.25, 1e-12);
  EXPECT_FALSE(estimate.counts_runs);
  EXPECT_TRUE(estimate.counts_examples);
}

TEST(Estimate, OfEqualScoresHasNoWidth) {
  const Estimate estimate = estimate_mean({{{{1, 1}}, {{1, 1}}, {{1, 1}}}});
  EXPECT_EQ(estimate.interval, (Interval{1, 1}));
  EXPECT_EQ(estimate_mean({{{{1}}}}).interval, (Interval{1, 1}));
}

TEST(Estimate, RunsOfOneGroupAreTheRunsThemselves) {
  const Estimate one_group = estimate_mean({{{{1, 0, 1}, {0, 0, 1}, {1, 1, 1}}}});
  const Estimate own_groups = estimate_mean({{{{1, 0, 1}}, {{0, 0, 1}}, {{1, 1, 1}}}});
  EXPECT_EQ(one_group.interval, own_groups.interval);
}

TEST(Estimate, MeanWeighsGroupsNotRuns) {
  EXPECT_DOUBLE_EQ(estimate_mean({{{{1}, {1}, {1}}, {{0}}}}).value, 0.5);
}

TEST(Estimate, PairingDropsWhatBothSystemsFindHard) {
  const SystemScores first{{{{1, 0, 1, 0, 1, 0}}, {{1, 0, 1, 0, 1, 0}}}};
  const SystemScores second{{{{1, 0, 1, 0, 1, 0}}, {{1, 0, 1, 0, 1, 0}}}};
  EXPECT_GT(estimate_mean(first).standard_error, 0.2);
  EXPECT_EQ(estimate_difference(first, second).interval, (Interval{0, 0}));
}

TEST(Estimate, RefusesScoresThatDoNotBelongTogether) {
  EXPECT_THROW(estimate_mean({}), Error);
  EXPECT_THROW(estimate_sum({}), Error);
  EXPECT_THROW(estimate_mean({{{{1, 0}, {1}}}}), Error);
  EXPECT_THROW(estimate_difference({{{{1, 0}}}}, {{{{1}}}}), Error);
  EXPECT_THROW(estimate_mean({{{{1}}, {{0}}}, {1, 2, 3}}), Error);
}

}  // namespace convseq
