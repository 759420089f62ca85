#include "convseq/eval/collapse.h"

#include <gtest/gtest.h>

#include "eval/answers.h"

namespace convseq {
using testing::answers;

TEST(Collapse, IsOneAnswerToExamplesWithSeveralLabels) {
  const auto collapse =
      find_collapse(answers({{"good", "good"}, {"good ", "bad"}, {"good", "bad"}}));
  ASSERT_TRUE(collapse);
  EXPECT_EQ(
      collapse->message(),
      "collapsed: the one answer \"good\" to all 3 examples, which have 2 different right answers");
}

TEST(Collapse, IsAlsoOneEmptyOrForeignAnswer) {
  EXPECT_TRUE(find_collapse(answers({{"", "good"}, {"", "bad"}})));
  EXPECT_TRUE(find_collapse(answers({{"the", "good"}, {"the", "bad"}})));
}

TEST(Collapse, IsNeitherAVariedAnswerNorASplitWithOneLabel) {
  EXPECT_FALSE(find_collapse(answers({{"good", "bad"}, {"bad", "good"}})));
  EXPECT_FALSE(find_collapse(answers({{"good", "good"}, {"good", "good"}})));
  EXPECT_FALSE(find_collapse({}));
}

TEST(Collapse, IsNotAnAnswerThatIsAcceptableEverywhere) {
  const std::vector<Outcome> outcomes = {{.prediction = "x", .references = {"a", "x"}},
                                         {.prediction = "x", .references = {"b", "x"}}};
  EXPECT_FALSE(find_collapse(outcomes));
}

}  // namespace convseq
