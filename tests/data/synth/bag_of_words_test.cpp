#include "convseq/data/synth/bag_of_words.h"

#include <gtest/gtest.h>

namespace convseq::synth {
namespace {
Example example(const std::string& text, const std::string& target) {
  return {.inputs = {{"text", text}, {"note", "always the same"}}, .target = target};
}
}  // namespace

TEST(BagOfWords, FollowsTheWordsThatTellClassesApart) {
  const std::vector<Example> training = {example("a warm day", "up"), example("a warm night", "up"),
                                         example("a cold day", "down"),
                                         example("a cold night", "down")};
  const BagOfWords bag(training, {"text"});
  EXPECT_EQ(bag.predict({{"text", "the warm sea"}}), "up");
  EXPECT_EQ(bag.predict({{"text", "the cold sea"}}), "down");
  EXPECT_EQ(bag.predict({{"text", "cold cold warm"}}), "down");
}

TEST(BagOfWords, SeesOnlyTheFieldsItIsGiven) {
  const std::vector<Example> training = {example("warm", "up"), example("cold", "down")};
  const BagOfWords bag(training, {"note"});
  EXPECT_EQ(bag.predict({{"text", "cold"}}), "up");  // a tie: the class seen first
}

TEST(BagOfWords, CannotLearnParity) {
  const std::vector<Example> training = {example("a b", "even"), example("c d", "even"),
                                         example("a d", "odd"), example("c b", "odd")};
  const BagOfWords bag(training, {"text"});
  for (const Example& each : training) EXPECT_EQ(bag.predict(each.inputs), "even");
}

}  // namespace convseq::synth
