#include "convseq/eval/report_text.h"

#include <gtest/gtest.h>

#include "eval/answers.h"

namespace convseq {
using testing::answers;

namespace {

ScoreOptions with_labels(std::vector<std::string> labels) {
  return {.labels = {.all = std::move(labels)}, .bootstrap = {.resamples = 0}};
}

}  // namespace

TEST(ClassScores, ArePrecisionRecallAndF1OfEachLabel) {
  // {answered, true}: of the class b 2 of 3 answers are right, and 2 of 4 are found.
  const auto outcomes = answers({{"b", "b"}, {"b", "b"}, {"b", "a"}, {"a", "b"}, {"?", "b"}});
  const Report report = make_report(outcomes, with_labels({"a", "b", "c"}));
  ASSERT_EQ(report.classes.size(), 3u);
  const ClassScore& b = report.classes[1];
  EXPECT_EQ(b.label, "b");
  EXPECT_NEAR(b.precision, 2.0 / 3, 1e-12);
  EXPECT_NEAR(b.recall, 2.0 / 4, 1e-12);
  EXPECT_NEAR(b.f1, 4.0 / 7, 1e-12);
  EXPECT_EQ(b.support, 4);
  EXPECT_EQ(report.classes[2].f1, 0) << "0 / 0";
  EXPECT_EQ(report.majority->label, "b");
  EXPECT_NEAR(report.majority->share, 4.0 / 5, 1e-12);
}

TEST(ReportText, ShowsTheMajorityShareTheClassesAndTheConfusionMatrix) {
  const auto outcomes = answers({{"bad", "bad"}, {"bad", "good"}, {"?", "good"}, {"good", "good"}});
  EXPECT_EQ(describe("reviews test", make_report(outcomes, with_labels({"good", "bad"})),
                     {.rows = 4, .skipped = 2}),
            "reviews test:\n"
            "  accuracy           0.5000\n"
            "  majority share     0.7500  (always \"good\")\n"
            "  4 examples\n"
            "  2 bad rows skipped; 4 rows used\n"
            "\n"
            "  class  precision  recall      f1  support\n"
            "  good      1.0000  0.3333  0.5000        3\n"
            "  bad       0.5000  1.0000  0.6667        1\n"
            "\n"
            "  true \\ answered  good        bad         no label\n"
            "  good             1           1           1\n"
            "  bad              0           1           0");
}

TEST(ReportText, ListsOnlyTheLargestConfusionsOfManyClasses) {
  std::vector<std::string> labels;
  for (int i = 0; i < 50; ++i) labels.push_back(fmt::format("label{}", i));
  const auto outcomes = answers({{"label1", "label2"}, {"label3", "label4"}, {"label3", "label4"}});
  const std::string text = describe("trec", make_report(outcomes, with_labels(labels)));
  EXPECT_EQ(text.find("true \\ answered"), std::string::npos);
  EXPECT_NE(text.find("\n  largest confusions:\n       2 × label4 answered as label3\n       1 × "
                      "label2 answered as label1"),
            std::string::npos)
      << text;
}

TEST(ReportText, SaysNothingOfClassesWhereAnswersAreFreeText) {
  const auto outcomes = answers({{"a", "a"}});
  EXPECT_EQ(describe("squad", make_report(outcomes, {.bootstrap = {.resamples = 0}})),
            "squad:\n  accuracy           1.0000\n  1 example");
}

}  // namespace convseq
