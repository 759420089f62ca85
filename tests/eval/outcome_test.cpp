#include "convseq/eval/outcome.h"

#include <gtest/gtest.h>

#include "convseq/eval/confusion.h"
#include "convseq/text/characters.h"

namespace convseq {

TEST(Outcome, IsRightWhenOneReferenceIsTheSameButForWhiteSpace) {
  EXPECT_TRUE(is_right({.prediction = "positive", .references = {"positive"}}));
  EXPECT_TRUE(is_right({.prediction = " x ( 1 )\n", .references = {"y", "x  (\t1 )"}}));
  EXPECT_TRUE(is_right({.prediction = "", .references = {"  "}}));
  EXPECT_FALSE(is_right({.prediction = "Positive", .references = {"positive"}}));
  EXPECT_FALSE(is_right({.prediction = "posi tive", .references = {"positive"}}));
  EXPECT_FALSE(is_right({.prediction = "", .references = {"positive"}}));
}

TEST(Outcome, TruthIsTheAcceptableAnswerGivenOrElseTheFirst) {
  EXPECT_EQ(truth_of({.prediction = "b", .references = {"a", "b"}}), "b");
  EXPECT_EQ(truth_of({.prediction = "c", .references = {" a ", "b"}}), "a");
}

TEST(Confusion, CountsTruthAgainstAnswer) {
  const std::vector<Outcome> outcomes = {{.prediction = "yes", .references = {"yes"}},
                                         {.prediction = "yes", .references = {"no"}},
                                         {.prediction = "yes ", .references = {"no"}},
                                         {.prediction = "maybe", .references = {"no"}}};
  const Confusion expected = {{"no", {{"maybe", 1}, {"yes", 2}}}, {"yes", {{"yes", 1}}}};
  EXPECT_EQ(confusion_of(outcomes), expected);
}

TEST(Characters, ComeBackAsTheyWere) {
  const std::string text = "aé中😀\x7F";
  EXPECT_EQ(characters_of(text).size(), 5u);
  EXPECT_EQ(utf8_of(characters_of(text)), text);
}

TEST(Characters, ReplaceBytesThatAreNoUtf8) {
  // A lone continuation, a cut character, an overlong form, a surrogate, a value past the last.
  for (const std::string bad : {"\x80", "\xE4\xB8", "\xC0\x80", "\xE0\x80\x80", "\xED\xA0\x80",
                                "\xF4\x90\x80\x80", "\xFF"}) {
    const std::u32string expected = U"a" + std::u32string(bad.size(), U'\uFFFD') + U"b";
    EXPECT_EQ(characters_of("a" + bad + "b"), expected);
  }
}

}  // namespace convseq
