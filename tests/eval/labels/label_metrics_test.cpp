#include <gtest/gtest.h>

#include "convseq/eval/report.h"
#include "eval/answers.h"

// The expected values were computed by scikit-learn from the same tables.
namespace convseq {
using testing::answers;

namespace {

double value(Metric metric, const std::vector<Outcome>& outcomes, const LabelSet& labels) {
  return on_all(statistic_of(metric, outcomes, labels), outcomes.size());
}

struct Binary : ::testing::Test {
  Binary() {
    const std::vector<double> toxic = {0.9, 0.8, 0.8, 0.6, 0.55, 0.4, 0.4, 0.3, 0.2, 0.1};
    const std::vector<bool> truth = {1, 1, 0, 1, 0, 1, 0, 0, 1, 0};
    for (size_t i = 0; i < toxic.size(); ++i) {
      outcomes.push_back({.prediction = toxic[i] >= 0.5 ? "toxic" : "clean",
                          .references = {truth[i] ? "toxic" : "clean"},
                          .probabilities = {1 - toxic[i], toxic[i]}});
    }
  }
  LabelSet labels{.all = {"clean", "toxic"}, .positive = "toxic"};
  std::vector<Outcome> outcomes;
};

struct ThreeClasses : ::testing::Test {
  ThreeClasses() {
    const std::vector<std::vector<double>> table = {
        {.7, .2, .1}, {.3, .5, .2}, {.1, .8, .1}, {.2, .6, .2},   {.1, .3, .6},
        {.2, .2, .6}, {.1, .1, .8}, {.5, .2, .3}, {.25, .15, .6}, {.6, .3, .1}};
    const std::vector<size_t> truth = {0, 0, 1, 1, 1, 2, 2, 2, 2, 0};
    const std::vector<size_t> answer = {0, 1, 1, 1, 2, 2, 2, 0, 2, 0};
    for (size_t i = 0; i < table.size(); ++i) {
      outcomes.push_back({.prediction = labels.all[answer[i]],
                          .references = {labels.all[truth[i]]},
                          .probabilities = table[i]});
    }
  }
  LabelSet labels{.all = {"a", "b", "c"}};
  std::vector<Outcome> outcomes;
};

struct LabelSetsOfThree : ::testing::Test {
  LabelSetsOfThree() {
    const std::vector<std::vector<double>> table = {{.8, .1, .2},  {.6, .4, .1}, {.3, .2, .05},
                                                    {.55, .7, .1}, {.9, .2, .3}, {.1, .6, .02},
                                                    {.4, .9, .6},  {.2, .3, .1}};
    const std::vector<std::vector<bool>> truth = {{1, 0, 0}, {1, 1, 0}, {0, 0, 0}, {0, 1, 0},
                                                  {1, 0, 1}, {0, 0, 0}, {1, 1, 0}, {0, 1, 0}};
    for (size_t i = 0; i < table.size(); ++i) {
      LabelSets sets;
      std::string predicted_text, true_text;
      for (size_t k = 0; k < 3; ++k) {
        if (table[i][k] >= 0.5) sets.predicted.push_back(labels.all[k]);
        if (table[i][k] >= 0.5) predicted_text += labels.all[k];
        if (truth[i][k]) sets.truth.push_back(labels.all[k]);
        if (truth[i][k]) true_text += labels.all[k];
      }
      outcomes.push_back({.prediction = predicted_text,
                          .references = {true_text},
                          .probabilities = table[i],
                          .label_sets = sets});
    }
  }
  LabelSet labels{.all = {"a", "b", "c"}, .kind = LabelKind::Multi};
  std::vector<Outcome> outcomes;
};

}  // namespace

TEST_F(Binary, MetricsAreThoseOfScikitLearn) {
  EXPECT_NEAR(value(Metric::RocAuc, outcomes, labels), 0.68, 1e-12);
  EXPECT_NEAR(value(Metric::AveragePrecision, outcomes, labels), 0.7087301587301588, 1e-12);
  EXPECT_NEAR(value(Metric::Matthews, outcomes, labels), 0.2, 1e-12);
}

TEST_F(ThreeClasses, MetricsAreThoseOfScikitLearn) {
  EXPECT_NEAR(value(Metric::RocAuc, outcomes, labels), 0.9325396825396824, 1e-12);
  EXPECT_NEAR(value(Metric::AveragePrecision, outcomes, labels), 0.8694444444444445, 1e-12);
  EXPECT_NEAR(value(Metric::Matthews, outcomes, labels), 0.5454545454545454, 1e-12);
  EXPECT_NEAR(value(Metric::CalibrationError, outcomes, labels), 0.27, 1e-12);
  EXPECT_NEAR(value(Metric::MicroF1, outcomes, labels), 0.7, 1e-12);  // the accuracy
}

TEST_F(LabelSetsOfThree, MetricsAreThoseOfScikitLearn) {
  EXPECT_NEAR(value(Metric::MicroF1, outcomes, labels), 0.5882352941176471, 1e-12);
  EXPECT_NEAR(value(Metric::MacroF1, outcomes, labels), 0.44047619047619047, 1e-12);
  EXPECT_NEAR(value(Metric::RocAuc, outcomes, labels), 0.8898809523809524, 1e-12);
  EXPECT_NEAR(value(Metric::AveragePrecision, outcomes, labels), 0.7791666666666667, 1e-12);
  EXPECT_NEAR(value(Metric::Matthews, outcomes, labels), 0.20511391563000606, 1e-12);
  EXPECT_NEAR(value(Metric::CalibrationError, outcomes, labels), 0.2383333333333333, 1e-12);
  EXPECT_NEAR(value(Metric::Accuracy, outcomes, labels), 0.25, 1e-12);  // of whole sets
}

TEST_F(LabelSetsOfThree, ReportHasScoresPerLabelAndNoConfusion) {
  const Report report = make_report(
      outcomes, {.metrics = {Metric::MicroF1}, .labels = labels, .bootstrap = {.resamples = 50}});
  ASSERT_EQ(report.classes.size(), 3u);
  EXPECT_NEAR(report.classes[1].precision, 2.0 / 3, 1e-12);
  EXPECT_NEAR(report.classes[1].recall, 0.5, 1e-12);
  EXPECT_EQ(report.classes[1].support, 4);
  EXPECT_EQ(report.classes[2].support, 1);
  EXPECT_TRUE(report.confusion.empty());
  EXPECT_FALSE(report.majority);
  ASSERT_TRUE(report.scores[0].interval);
  EXPECT_LT(report.scores[0].interval->low, report.scores[0].interval->high);
}

TEST_F(Binary, ResamplesWeighExamplesAsIfTheyWereRepeated) {
  const std::vector<uint32_t> sample = {0, 0, 2, 5, 5, 9};
  std::vector<Outcome> repeated;
  for (const uint32_t i : sample) repeated.push_back(outcomes[i]);
  for (const Metric metric : {Metric::RocAuc, Metric::AveragePrecision, Metric::CalibrationError,
                              Metric::Matthews, Metric::MicroF1}) {
    EXPECT_NEAR(statistic_of(metric, outcomes, labels)(sample), value(metric, repeated, labels),
                1e-12)
        << name_of(metric);
  }
}

TEST_F(Binary, RankingWithoutOneOfTheClassesIsChance) {
  const std::vector<uint32_t> toxic_only = {0, 1, 3};
  EXPECT_EQ(statistic_of(Metric::RocAuc, outcomes, labels)(toxic_only), 0.5);
  EXPECT_EQ(statistic_of(Metric::AveragePrecision, outcomes, labels)(toxic_only), 0);
}

TEST(LabelMetrics, RefuseGeneratedText) {
  const auto generated = answers({{"a", "a"}, {"b", "a"}});
  EXPECT_THROW(statistic_of(Metric::RocAuc, generated, {.all = {"a", "b"}}), Error);
  EXPECT_EQ(value(Metric::Matthews, generated, {.all = {"a", "b"}}), 0);
}

TEST(LabelMetrics, MatthewsOfEverythingRightIsOne) {
  EXPECT_EQ(value(Metric::Matthews, answers({{"a", "a"}, {"b", "b"}, {"c", "c"}}), {}), 1);
}

}  // namespace convseq
