#include "convseq/eval/f1.h"

#include <gtest/gtest.h>

#include "eval/answers.h"

namespace convseq {
using testing::answers;

namespace {

double f1(const std::vector<Outcome>& outcomes, const std::string& positive) {
  return on_all(f1_of(outcomes, positive), outcomes.size());
}

double macro_f1(const std::vector<Outcome>& outcomes, const std::vector<std::string>& labels = {}) {
  return on_all(macro_f1_of(outcomes, labels), outcomes.size());
}

}  // namespace

TEST(F1, IsTwiceTheRightOverAnsweredPlusTrue) {
  // toxic: 2 right, 3 answered, 4 true. clean: 1 right, 3 answered, 2 true.
  const auto outcomes = answers({{"toxic", "toxic"},
                                 {"toxic", "toxic"},
                                 {"toxic", "clean"},
                                 {"clean", "toxic"},
                                 {"clean", "toxic"},
                                 {"clean", "clean"}});
  EXPECT_NEAR(f1(outcomes, "toxic"), 4.0 / 7, 1e-12);
  EXPECT_NEAR(f1(outcomes, "clean"), 2.0 / 5, 1e-12);
  EXPECT_NEAR(macro_f1(outcomes), (4.0 / 7 + 2.0 / 5) / 2, 1e-12);
}

TEST(F1, IsZeroWhereThePositiveClassIsNeverRight) {
  EXPECT_EQ(f1(answers({{"clean", "clean"}}), "toxic"), 0);
  EXPECT_EQ(f1(answers({{"clean", "toxic"}, {"toxic", "clean"}}), "toxic"), 0);
}

TEST(MacroF1, CountsAnAnswerThatIsNoLabelAsWrongButNotAsAClass) {
  // a: 1 right, 1 answered, 2 true. b: 1 right, 1 answered, 1 true.
  const auto outcomes = answers({{"a", "a"}, {"nonsense", "a"}, {"b", "b"}});
  EXPECT_NEAR(macro_f1(outcomes), (2.0 / 3 + 1) / 2, 1e-12);
  EXPECT_EQ(macro_f1(outcomes, {"a", "b"}), macro_f1(outcomes));
}

TEST(MacroF1, LeavesOutLabelsThatNeverOccurAndCountsThoseWronglyGiven) {
  EXPECT_EQ(macro_f1(answers({{"a", "a"}, {"b", "b"}}), {"a", "b", "c"}), 1);
  // a: 1 right, 1 answered, 2 true. c: 0 right, 1 answered.
  EXPECT_NEAR(macro_f1(answers({{"a", "a"}, {"c", "a"}}), {"a", "c"}), (2.0 / 3 + 0) / 2, 1e-12);
}

TEST(MacroF1, SeesOnlyTheSample) {
  const auto outcomes = answers({{"a", "a"}, {"b", "c"}, {"c", "c"}});
  const auto statistic = macro_f1_of(outcomes, {});
  const std::vector<uint32_t> only_right = {0, 2, 2}, only_wrong = {1};
  EXPECT_EQ(statistic(only_right), 1);
  EXPECT_EQ(statistic(only_wrong), 0);
}

}  // namespace convseq
