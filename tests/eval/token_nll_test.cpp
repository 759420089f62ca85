#include "convseq/eval/token_nll.h"

#include <gtest/gtest.h>

#include <cmath>

#include "convseq/base/error.h"
#include "temp_folder.h"

namespace convseq {
using testing::message_of;

TEST(TokenNll, WeighsExamplesByTheirTokens) {
  const std::vector<TokenNll> examples = {{.nll = 6, .tokens = 3, .right = 1},
                                          {.nll = 1, .tokens = 1, .right = 1},
                                          {.nll = 0, .tokens = 0, .right = 0}};
  const TokenScore score = score_tokens(examples, {.resamples = 200});
  EXPECT_EQ(score.total.mean(), 7.0 / 4);
  EXPECT_EQ(score.total.perplexity(), std::exp(7.0 / 4));
  EXPECT_EQ(score.total.accuracy(), 0.5);
  EXPECT_EQ(score.mean_interval->low, 1);  // only the second drawn
  EXPECT_EQ(score.mean_interval->high, 2);
}

TEST(TokenNll, IsTheSameHoweverItWasSummed) {
  TokenNll whole, left{.nll = 1.5, .tokens = 2, .right = 1};
  whole += left;
  whole += {.nll = 0.5, .tokens = 3, .right = 3};
  EXPECT_EQ(whole.nll, 2);
  EXPECT_EQ(whole.tokens, 5);
  EXPECT_EQ(whole.right, 4);
}

TEST(TokenNll, RefusesASplitWithoutTokens) {
  EXPECT_EQ(message_of<Error>([] { score_tokens({}, {}); }), "there are no target tokens to score");
}

}  // namespace convseq
