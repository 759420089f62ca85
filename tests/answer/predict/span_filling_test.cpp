#include "convseq/answer/predict/span_filling.h"

#include <gtest/gtest.h>

namespace convseq {
namespace {

class SpanFillingTest : public ::testing::Test {
 protected:
  TokenIds ids(const std::string& text) const { return tokenizer_.encode(text); }
  int32_t sentinel(int32_t index) const { return tokenizer_.vocabulary().sentinel(index); }
  std::string filled(const std::string& text, const std::string& answer) const {
    return spans_.filled(text, ids(answer));
  }

  const Tokenizer tokenizer_ =
      Tokenizer::load(CONVSEQ_SOURCE_DIR "/configs/tokenizers/pieces-8k").with_sentinels();
  const SpanFilling spans_{tokenizer_};
};

TEST_F(SpanFillingTest, AnAnswerEndsAtTheFirstSentinelThatTheTextDoesNotHave) {
  const TokenIds source = ids("The <extra_id_0> runs <extra_id_3> the sea.");
  EXPECT_FALSE(spans_.ends(source, sentinel(0)));
  EXPECT_FALSE(spans_.ends(source, sentinel(3)));
  EXPECT_TRUE(spans_.ends(source, sentinel(1)));
  EXPECT_TRUE(spans_.ends(source, sentinel(4)));
  EXPECT_FALSE(spans_.ends(source, ids("river")[0]));
}

TEST_F(SpanFillingTest, WithoutSentinelsThereAreNoSpans) {
  const TokenIds source = ids("The river runs.");
  EXPECT_FALSE(spans_.has_spans(source));
  EXPECT_FALSE(spans_.ends(source, sentinel(0)));
  EXPECT_TRUE(spans_.has_spans(ids("The <extra_id_99>")));
}

TEST_F(SpanFillingTest, SpansTakeThePlaceOfTheirSentinels) {
  EXPECT_EQ(filled("The <extra_id_0> runs <extra_id_1> the sea.",
                   "<extra_id_0> old river <extra_id_1> into"),
            "The old river runs into the sea.");
  EXPECT_EQ(filled("(<extra_id_0>)  stays", "<extra_id_0> this"), "(this)  stays");
  EXPECT_EQ(filled("b: <extra_id_1>, a: <extra_id_0>", "<extra_id_0> one <extra_id_1> two"),
            "b: two, a: one");
}

TEST_F(SpanFillingTest, ASentinelThatTheAnswerLeavesOutStays) {
  EXPECT_EQ(filled("The <extra_id_0> runs <extra_id_1>.", "<extra_id_0> river"),
            "The river runs <extra_id_1>.");
  EXPECT_EQ(filled("The <extra_id_0> runs.", "river"), "The <extra_id_0> runs.");
  EXPECT_EQ(filled("The <extra_id_0> runs.", ""), "The <extra_id_0> runs.");
}

TEST_F(SpanFillingTest, TheFirstOfTwoSpansOfOneSentinelCounts) {
  EXPECT_EQ(filled("The <extra_id_0> runs.", "<extra_id_0> river <extra_id_0> horse"),
            "The river runs.");
}

TEST_F(SpanFillingTest, AnEmptySpanAndAContinuedWordLeaveNoSpaceBefore) {
  EXPECT_EQ(filled("The <extra_id_0> river", "<extra_id_0>"), "The river");
  TokenIds comma = ids("river,");
  comma.erase(comma.begin(), comma.end() - 1);  // the piece "," alone
  comma.insert(comma.begin(), sentinel(0));
  EXPECT_EQ(spans_.filled("The river <extra_id_0> not the sea", comma), "The river, not the sea");
}

}  // namespace
}  // namespace convseq
