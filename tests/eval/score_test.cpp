#include "convseq/eval/score.h"

#include <gtest/gtest.h>

#include "convseq/base/error.h"
#include "convseq/base/random.h"
#include "eval/answers.h"
#include "temp_folder.h"

namespace convseq {
using testing::answers;
using testing::message_of;

namespace {

constexpr BootstrapOptions kNoIntervals{.resamples = 0};

// Right with the given probability, the other of two labels otherwise.
std::vector<Outcome> simulated(double accuracy, size_t count, uint64_t seed) {
  Random random(seed);
  std::vector<Outcome> outcomes(count);
  for (size_t i = 0; i < count; ++i) {
    const std::string truth = i % 2 ? "yes" : "no", other = i % 2 ? "no" : "yes";
    outcomes[i] = {.prediction = random.uniform() < accuracy ? truth : other,
                   .references = {truth}};
  }
  return outcomes;
}

}  // namespace

TEST(LabelSet, OfATaskHasItsKind) {
  Task task;
  task.labels = {"a", "b"};
  task.positive_label = "b";
  task.label_kind = LabelKind::Multi;
  const LabelSet labels = label_set_of(task);
  EXPECT_EQ(labels.all, task.labels);
  EXPECT_EQ(labels.positive, "b");
  EXPECT_EQ(labels.kind, LabelKind::Multi);
}

TEST(Score, GivesEveryMetricInItsOrder) {
  const std::vector<Outcome> outcomes = {{.prediction = "The cat", .references = {"cat", "dog"}},
                                         {.prediction = "dog", .references = {"dog"}},
                                         {.prediction = "dog", .references = {"big cat"}},
                                         {.prediction = "cat", .references = {"big cat"}}};
  const std::vector<std::pair<Metric, double>> expected = {
      {Metric::SquadF1, (1 + 1 + 0 + 2.0 / 3) / 4},
      {Metric::SquadExactMatch, 0.5},
      {Metric::ExactMatch, 0.25},
      {Metric::Accuracy, 0.25},
      {Metric::F1, 2.0 / 3},
      {Metric::MacroF1, (0 + 2.0 / 3 + 0) / 3}};
  ScoreOptions options{.metrics = {}, .labels = {.positive = "dog"}};
  for (const auto& [metric, value] : expected) options.metrics.push_back(metric);
  const auto scores = score(outcomes, options);
  ASSERT_EQ(scores.size(), expected.size());
  for (size_t i = 0; i < scores.size(); ++i) {
    EXPECT_EQ(scores[i].metric, expected[i].first);
    EXPECT_NEAR(scores[i].value, expected[i].second, 1e-12) << name_of(scores[i].metric);
    EXPECT_EQ(scores[i].count, 4);
    ASSERT_TRUE(scores[i].interval);
    EXPECT_LE(scores[i].interval->low, scores[i].value);
    EXPECT_GE(scores[i].interval->high, scores[i].value);
  }
}

TEST(Score, HasNoIntervalWithoutResamples) {
  EXPECT_FALSE(score(answers({{"a", "a"}}), {.bootstrap = kNoIntervals})[0].interval);
}

TEST(Score, CategoriesAreScoredApart) {
  auto outcomes = answers({{"a", "a"}, {"b", "a"}, {"c", "c"}, {"d", "c"}, {"e", "c"}});
  outcomes[0].category = outcomes[1].category = "subject";
  outcomes[2].category = "object";
  const auto scores =
      score_by_category(outcomes, {.metrics = {Metric::ExactMatch}, .bootstrap = kNoIntervals});
  ASSERT_EQ(scores.size(), 2u);
  EXPECT_EQ(scores.at("subject")[0].value, 0.5);
  EXPECT_EQ(scores.at("subject")[0].count, 2);
  EXPECT_EQ(scores.at("object")[0].value, 1);
}

TEST(ScoreDifference, PairedIntervalSeesWhatTwoSeparateOnesCannot) {
  // The second system is the first with 12 of its right answers spoilt.
  const auto first = simulated(0.8, 400, 3);
  auto second = first;
  int spoilt = 0;
  for (Outcome& outcome : second) {
    if (is_right(outcome) && spoilt++ < 12) outcome.prediction = "neither";
  }
  const ScoreOptions options{.metrics = {Metric::Accuracy, Metric::MacroF1}};
  const auto difference = score_difference(first, second, options)[0];
  EXPECT_NEAR(difference.value, 12.0 / 400, 1e-12);
  EXPECT_GT(difference.interval->low, 0);
  EXPECT_LT(difference.interval->high, 0.06);
  EXPECT_LT(score(first, options)[0].interval->low, score(second, options)[0].interval->high);
  const auto reversed = score_difference(second, first, options)[0];
  EXPECT_NEAR(reversed.interval->low, -difference.interval->high, 1e-12);
}

TEST(ScoreDifference, OfASystemWithItselfIsZero) {
  const auto outcomes = simulated(0.7, 50, 1);
  EXPECT_EQ(score_difference(outcomes, outcomes, {})[0].interval, (Interval{0, 0}));
}

TEST(Score, RefusesWhatCannotBeScored) {
  EXPECT_EQ(message_of<Error>([] { score({}, {}); }), "there are no answers to score");
  const std::vector<Outcome> bare = {{.prediction = "a", .references = {}}};
  EXPECT_EQ(message_of<Error>([&] { score(bare, {}); }), "example 1 has no acceptable answer");
  const auto one = answers({{"a", "a"}}), two = answers({{"a", "a"}, {"a", "b"}}),
             other = answers({{"a", "b"}});
  EXPECT_EQ(message_of<Error>([&] { score(one, {.metrics = {Metric::F1}}); }),
            "the metric f1 needs the name of the positive class");
  EXPECT_EQ(message_of<Error>([&] { score_difference(one, two, {}); }),
            "one system answered 1 examples and the other 2; compare them on the same ones");
  EXPECT_EQ(message_of<Error>([&] { score_difference(one, other, {}); }),
            "example 1 of the two systems is not the same: their references differ");
}

}  // namespace convseq
