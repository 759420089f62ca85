#include <gtest/gtest.h>

#include <cmath>

#include "convseq/base/random.h"
#include "convseq/study/report/system_scores.h"
#include "report_fixture.h"

namespace convseq::report {
namespace {

// Outcomes of a classifier with a positive label, and their F1.
SplitResult random_split(uint64_t seed, size_t examples) {
  Random random(seed);
  SplitResult split{.examples = static_cast<int64_t>(examples)};
  split.outcomes.metric = "accuracy";
  double hits = 0, errors = 0;
  for (size_t e = 0; e < examples; ++e) {
    const bool positive = random.uniform() < 0.3, right = random.uniform() < 0.8;
    split.outcomes.positives.push_back(positive);
    split.outcomes.values.push_back(right ? 255 : 0);
    hits += right && positive;
    errors += !right;
  }
  const auto count = static_cast<double>(examples);
  split.metrics = {
      {"accuracy", 1 - errors / count}, {"f1", 2 * hits / (2 * hits + errors)}, {"roc_auc", 0.9}};
  return split;
}

CellResult run_with(SplitResult test, int64_t seed) {
  CellResult run{.id = std::to_string(seed), .parts = {"main"}, .model = "light", .task = "toxic"};
  run.seed = seed;
  run.chosen = true;
  run.splits["test"] = std::move(test);
  return run;
}

// A run with a score that has no outcomes per example.
CellResult pretrained_run(const std::string& task, int64_t pretraining_seed, double score) {
  CellResult run = run_with({.examples = 1, .metrics = {{"accuracy", score}}}, pretraining_seed);
  run.task = task;
  run.start = Start::Pretrained;
  run.pretraining_seed = pretraining_seed;
  return run;
}

ReportInput study_of(std::vector<CellResult> results) {
  return {.parts = {{"main", {"RQ1"}, {"light"}, {"toxic"}}},
          .models = {testing::make_model("light", "paper-light-mini")},
          .results = std::move(results)};
}

}  // namespace

TEST(ReportSystems, F1KeepsItsValueAndHasTheErrorOfABootstrap) {
  const SplitResult split = random_split(1, 400);
  const ReportInput input = study_of({run_with(split, 1)});
  const Systems systems(input);
  const Figure figure = figure_of(systems.all().front(), {"f1"});
  EXPECT_NEAR(figure.estimate.value, split.metric("f1"), 1e-12);
  EXPECT_TRUE(figure.estimate.counts_examples);
  const Statistic f1 = [&](Sample sample) {
    double hits = 0, errors = 0;
    for (const uint32_t e : sample) {
      hits += split.outcomes.values[e] > 0 && split.outcomes.positives[e] > 0;
      errors += split.outcomes.values[e] == 0;
    }
    return 2 * hits / (2 * hits + errors);
  };
  const Interval bootstrap = bootstrap_intervals({f1}, 400, {.resamples = 4000})[0];
  EXPECT_NEAR(figure.estimate.half_width(), (bootstrap.high - bootstrap.low) / 2, 0.003);
}

TEST(ReportSystems, AMetricWithoutOutcomesPerExampleCountsRunsOnly) {
  const ReportInput input =
      study_of({run_with(random_split(1, 50), 1), run_with(random_split(2, 50), 2)});
  const Systems systems(input);
  const Figure auc = figure_of(systems.all().front(), {"roc_auc"});
  EXPECT_FALSE(auc.estimate.counts_examples);
  EXPECT_TRUE(auc.estimate.counts_runs);
  EXPECT_EQ(shown_metrics(systems.all().front()),
            (std::vector<std::string>{"accuracy", "f1", "roc_auc"}));
}

TEST(ReportSystems, CollapsedRunsLeaveTheMeanUnlessAllCollapsed) {
  std::vector<CellResult> results;
  for (int64_t seed = 1; seed <= 3; ++seed) {
    results.push_back(run_with(random_split(static_cast<uint64_t>(seed), 50), seed));
  }
  results[0].splits["test"].collapsed = true;
  const ReportInput one = study_of(results);
  const Systems some(one);
  EXPECT_EQ(some.all().front().runs.size(), 2);
  EXPECT_NE(text_of(figure_of(some.all().front())).find("(2) †1"), std::string::npos);
  results.push_back(run_with(random_split(4, 50), 4));
  results[1].splits["test"].collapsed = true;
  const ReportInput two = study_of(results);
  EXPECT_NE(text_of(figure_of(Systems(two).all().front())).find("(2) †2"), std::string::npos);
  for (CellResult& result : results) result.splits["test"].collapsed = true;
  const ReportInput all = study_of(results);
  const Systems none(all);
  EXPECT_EQ(none.all().front().runs.size(), 4);
  EXPECT_NE(text_of(figure_of(none.all().front())).find("(4) †4"), std::string::npos);
}

TEST(ReportSystems, CollapsedRunsCountWhereTheStudySaysSo) {
  std::vector<CellResult> results;
  for (int64_t seed = 1; seed <= 3; ++seed) {
    results.push_back(run_with(random_split(static_cast<uint64_t>(seed), 50), seed));
  }
  results[0].splits["test"].collapsed = true;
  ReportInput input = study_of(results);
  input.count_collapsed = true;
  const Systems systems(input);
  EXPECT_EQ(systems.all().front().runs.size(), 3);
  EXPECT_NE(text_of(figure_of(systems.all().front())).find("(3) †1"), std::string::npos);
}

TEST(ReportSystems, RunsThatWereNotChosenOrFailedAreNoScores) {
  CellResult other_rate = run_with(random_split(1, 50), 1), failed = run_with({}, 2);
  other_rate.chosen = false;
  failed.failed = "out of memory";
  const ReportInput input = study_of({other_rate, failed});
  EXPECT_TRUE(Systems(input).all().empty());
}

TEST(ReportSystems, AChangeOfADifferenceIsPairedOnTheExamples) {
  const ReportInput input = testing::example_study();
  const Systems systems(input);
  const auto on = [&](const char* model, Start start) {
    std::vector<const System*> found;
    for (const char* task : {"sst2", "cogs"}) {
      found.push_back(systems.find(model, start, task, {"RQ1"}));
    }
    return found;
  };
  const auto a = on("light", Start::Pretrained), b = on("transformer", Start::Pretrained);
  const auto c = on("light", Start::Scratch), d = on("transformer", Start::Scratch);
  const Estimate change = mean_over_tasks({{a, 1}, {b, -1}, {c, -1}, {d, 1}});
  EXPECT_NEAR(change.value, mean_over_tasks(a, b).value - mean_over_tasks(c, d).value, 1e-12);
  const Estimate none = mean_over_tasks({{c, 1}, {d, -1}, {c, -1}, {d, 1}});
  EXPECT_NEAR(none.value, 0, 1e-12);
  EXPECT_EQ(finding_of(none), Finding::Undecided);
}

TEST(ReportSystems, AMeanOverTasksPairsPretrainingsByTheirSeeds) {
  // Pre-training 2 is better by 20 points on both tasks; paired by their places the first and the
  // second of each would cancel out.
  const ReportInput input =
      study_of({pretrained_run("first", 1, 0.5), pretrained_run("first", 2, 0.7),
                pretrained_run("second", 2, 0.7), pretrained_run("second", 3, 0.5)});
  const Systems systems(input);
  const std::vector<const System*> tasks = {&systems.all()[0], &systems.all()[1]};
  const Estimate mean = mean_over_tasks(tasks);
  EXPECT_NEAR(mean.value, 0.6, 1e-12);
  EXPECT_GT(mean.standard_error, 0.05);
}

TEST(ReportSystems, AMeanOverTasksKeepsTheLuckThatTasksShareIfOneLacksAPretraining) {
  std::vector<CellResult> results;
  for (int task = 1; task <= 14; ++task) {
    for (int64_t seed = 1; seed <= 3; ++seed) {
      const double luck = 0.05 * static_cast<double>(seed);
      results.push_back(pretrained_run(fmt::format("task{:02}", task), seed, 0.6 + luck));
    }
  }
  const auto width_of = [](const std::vector<CellResult>& all) {
    const ReportInput input = study_of(all);
    const Systems systems(input);
    std::vector<const System*> tasks;
    for (const System& system : systems.all()) tasks.push_back(&system);
    return mean_over_tasks(tasks).half_width();
  };
  const double complete = width_of(results);
  EXPECT_NEAR(complete, 4.302653 * 0.05 / std::sqrt(3), 1e-6);
  results.pop_back();  // pre-training 3 of the last task
  EXPECT_NEAR(width_of(results), complete, 0.1 * complete);
  results.pop_back();  // and 2
  EXPECT_NEAR(width_of(results), complete, 0.2 * complete);
}

TEST(ReportSystems, FitTheStudysModelIfTheirSizeIsItsOwnOrNotKnown) {
  const Model model = testing::make_model("light", "paper-light-mini");
  EXPECT_TRUE(fits("d=256, 4+4 layers", &model));
  EXPECT_TRUE(fits("", &model));
  EXPECT_TRUE(fits("d=512, 6+6 layers", nullptr));
  EXPECT_FALSE(fits("d=512, 6+6 layers", &model));
}

TEST(ReportSystems, PretrainingSeedsAreTheGroupsOfPretrainedRuns) {
  const ReportInput input = testing::example_study();
  const Systems systems(input);
  const System* system = systems.find("light", Start::Pretrained, "sst2", {"RQ1"});
  ASSERT_NE(system, nullptr);
  EXPECT_EQ(system->pretrainings(), 2);
  EXPECT_EQ(scores_of(*system, {"accuracy"}).groups.size(), 2);
  const System* scratch = systems.find("light", Start::Scratch, "sst2", {"RQ1"});
  EXPECT_EQ(scores_of(*scratch, {"accuracy"}).groups.size(), 4);
}

}  // namespace convseq::report
