#include "convseq/eval/report.h"

#include <gtest/gtest.h>

#include "eval/answers.h"

namespace convseq {
using testing::answers;

TEST(Report, SaysAllInJson) {
  auto outcomes = answers({{"good", "good"}, {"good", "bad"}});
  outcomes[0].category = "short";
  Report report = make_report(outcomes, {.metrics = {Metric::Accuracy, Metric::F1},
                                         .labels = {.all = {"good", "bad"}, .positive = "bad"},
                                         .bootstrap = {.resamples = 0}});
  report.tokens = TokenScore{.total = {.nll = 0, .tokens = 4, .right = 3}};
  EXPECT_EQ(to_json(report), Json::parse(R"({
    "scores": [{"metric": "accuracy", "value": 0.5, "count": 2},
               {"metric": "f1", "value": 0.0, "count": 2}],
    "categories": {"short": [{"metric": "accuracy", "value": 1.0, "count": 1},
                             {"metric": "f1", "value": 0.0, "count": 1}]},
    "confusion": {"bad": {"good": 1}, "good": {"good": 1}},
    "classes": [{"label": "good", "precision": 0.5, "recall": 1.0, "f1": 0.6666666666666666,
                 "support": 1, "answered": 2},
                {"label": "bad", "precision": 0.0, "recall": 0.0, "f1": 0.0, "support": 1,
                 "answered": 0}],
    "majority": {"label": "bad", "share": 0.5},
    "tokens": {"nll": 0.0, "perplexity": 1.0, "accuracy": 0.75, "tokens": 4},
    "collapse": "collapsed: the one answer \"good\" to all 2 examples, which have 2 different right answers"
  })"));
}

TEST(Report, KeepsIntervalsAndLeavesOutWhatIsNotThere) {
  const Json json =
      to_json(make_report(answers({{"a b", "a b"}}), {.bootstrap = {.resamples = 9}}));
  EXPECT_EQ(json, Json::parse(R"({"scores": [
    {"metric": "accuracy", "value": 1.0, "low": 1.0, "high": 1.0, "count": 1}]})"));
}

TEST(Report, WritesAnswersThatAreNoUtf8) {
  const auto outcomes = answers({{"\xFF", "good"}, {"\xFF", "bad"}});
  const Json json = to_json(
      make_report(outcomes, {.labels = {.all = {"good", "bad"}}, .bootstrap = {.resamples = 0}}));
  EXPECT_NE(json.dump().find("\uFFFD"), std::string::npos);
}

}  // namespace convseq
