#include "convseq/answer/evaluate_task.h"

#include <gtest/gtest.h>

#include <cmath>

#include "temp_folder.h"

namespace convseq {
using testing::message_of;

namespace {

Task toxic_task() {
  Task task;
  task.name = "toxic";
  task.labels = {"clean", "toxic"};
  task.positive_label = "toxic";
  return task;
}

Task multi_task() {
  Task task;
  task.name = "kinds";
  task.labels = {"rude", "threat"};
  task.label_kind = LabelKind::Multi;
  return task;
}

std::vector<TaskExample> single_examples(const std::vector<std::string>& targets) {
  std::vector<TaskExample> examples;
  for (const std::string& target : targets) {
    TaskExample& example = examples.emplace_back();
    example.target = target;
    example.answers = {target};
  }
  return examples;
}

std::vector<TaskExample> multi_examples(const std::vector<std::vector<std::string>>& labels) {
  std::vector<TaskExample> examples;
  for (const auto& each : labels) examples.emplace_back().labels = each;
  return examples;
}

const CalibrationRequest kPrecision{
    .threshold = ThresholdRequest{.goal = ThresholdGoal::Precision, .value = 1}};

}  // namespace

TEST(FitCalibration, FitsAThresholdOfThePositiveLabel) {
  const Task task = toxic_task();
  const auto examples = single_examples({"toxic", "clean", "toxic", "clean"});
  const ClassScores scores = {{0, 3}, {0, 1}, {0, 2}, {0, -1}};
  const Calibration fitted =
      fit_calibration(kPrecision, {}, {.task = task, .examples = examples, .scores = scores});
  const double above = 1 / (1 + std::exp(-2.0)), below = 1 / (1 + std::exp(-1.0));
  EXPECT_NEAR(fitted.thresholds.at("toxic"), (above + below) / 2, 1e-12);
  EXPECT_EQ(fitted.temperature, 1);
}

TEST(FitCalibration, FitsAThresholdPerLabelAndKeepsThoseThatCannotBe) {
  const Task task = multi_task();
  const auto examples = multi_examples({{"rude"}, {}, {"rude"}, {}});
  const ClassScores scores = {{3, 0}, {1, 0}, {2, 0}, {-1, 0}};
  const Calibration fitted =
      fit_calibration(kPrecision, {.thresholds = {{"threat", 0.7}}},
                      {.task = task, .examples = examples, .scores = scores});
  EXPECT_EQ(fitted.thresholds.size(), 2u);
  EXPECT_GT(fitted.thresholds.at("rude"), 0.5);
  EXPECT_EQ(fitted.thresholds.at("threat"), 0.7);
}

TEST(FitCalibration, FitsNoThresholdToTooFewExamples) {
  const Task task = multi_task();
  const auto examples = multi_examples({{"rude"}, {"threat"}, {"rude"}, {}});
  const ClassScores scores = {{3, 0}, {1, 2}, {2, 0}, {-1, 0}};
  const CalibrationData data{.task = task, .examples = examples, .scores = scores};
  const auto fitted_labels = [&](int64_t min_positives) {
    CalibrationRequest request = kPrecision;
    request.min_positives = min_positives;
    return fit_calibration(request, {}, data).thresholds.size();
  };
  EXPECT_EQ(fitted_labels(1), 2u);
  EXPECT_EQ(fitted_labels(2), 1u);
  EXPECT_NE(message_of<Error>([&] { fitted_labels(3); }).find("with 3 or more of a label"),
            std::string::npos);
}

TEST(FitCalibration, ThresholdsBelongToTheirTemperature) {
  const Task task = toxic_task();
  const auto examples = single_examples({"toxic", "clean", "toxic", "clean"});
  const ClassScores scores = {{0, 3}, {0, 1}, {0, 2}, {0, -1}};
  const CalibrationData data{.task = task, .examples = examples, .scores = scores};
  const Calibration both =
      fit_calibration({.temperature = true, .threshold = kPrecision.threshold}, {}, data);
  EXPECT_NE(both.temperature, 1);
  const LabelDecision decision(LabelKind::Single, task.labels, both);
  EXPECT_EQ(decision.decide(scores[2]).chosen, std::vector<size_t>{1});
  EXPECT_EQ(decision.decide(scores[1]).chosen, std::vector<size_t>{0});
  EXPECT_TRUE(fit_calibration({.temperature = true}, both, data).thresholds.empty());
}

TEST(FitCalibration, RefusesWhatCannotBeMet) {
  Task task = toxic_task();
  const auto examples = single_examples({"clean", "toxic"});
  const ClassScores scores = {{0, 3}, {0, 1}};
  const CalibrationData data{.task = task, .examples = examples, .scores = scores};
  EXPECT_EQ(message_of<Error>([&] { fit_calibration(kPrecision, {}, data); }),
            "toxic: no threshold gives precision=1 on 2 examples; ask for less");
  task.positive_label.clear();
  EXPECT_EQ(message_of<Error>([&] { fit_calibration(kPrecision, {}, data); }),
            "toxic: a threshold is that of the positive label; name it with positive_label");
}

TEST(AllMetrics, AddsThoseOfProbabilitiesWhereThereAreLabels) {
  Task task = toxic_task();
  task.metrics = {Metric::Accuracy, Metric::RocAuc};
  EXPECT_EQ(all_metrics(task, AnswerBy::Head),
            (std::vector{Metric::Accuracy, Metric::RocAuc, Metric::Matthews,
                         Metric::AveragePrecision, Metric::CalibrationError}));
  task.metrics = {Metric::Accuracy};
  EXPECT_EQ(all_metrics(task, AnswerBy::Greedy), (std::vector{Metric::Accuracy, Metric::Matthews}));
  task.labels.clear();
  EXPECT_EQ(all_metrics(task, AnswerBy::Greedy), std::vector{Metric::Accuracy});
}

}  // namespace convseq
