#include "convseq/text/sentinels.h"

#include <gtest/gtest.h>

#include "temp_folder.h"

namespace convseq {

TEST(Vocabulary, HasT5sNumbersFor32000Pieces) {
  const Vocabulary vocabulary(32000);
  EXPECT_EQ(vocabulary.size(), 32128);
  EXPECT_EQ(vocabulary.sentinel(0), 32099);
  EXPECT_EQ(vocabulary.sentinel(99), 32000);
  EXPECT_EQ(Vocabulary::sentinel_name(0), "<extra_id_0>");
}

TEST(Vocabulary, FitsPiecesAndSentinelsIntoAMultipleOf128AndNoMore) {
  for (int32_t pieces = 3; pieces < 1000; ++pieces) {
    const Vocabulary vocabulary(pieces);
    EXPECT_EQ(vocabulary.size() % 128, 0);
    EXPECT_GE(vocabulary.size(), pieces + Vocabulary::kSentinels);
    EXPECT_LT(vocabulary.size(), pieces + Vocabulary::kSentinels + 128);
  }
}

TEST(Vocabulary, EveryIdIsAPieceOrASentinelOrUnused) {
  const Vocabulary vocabulary(300);
  int pieces = 0, sentinels = 0;
  for (int32_t id = -1; id <= vocabulary.size(); ++id) {
    pieces += vocabulary.is_piece(id);
    sentinels += vocabulary.is_sentinel(id);
    EXPECT_FALSE(vocabulary.is_piece(id) && vocabulary.is_sentinel(id));
    if (vocabulary.is_sentinel(id)) {
      EXPECT_EQ(vocabulary.sentinel(vocabulary.sentinel_index(id)), id);
    }
  }
  EXPECT_EQ(pieces, 300);
  EXPECT_EQ(sentinels, Vocabulary::kSentinels);
}

TEST(Vocabulary, RefusesLessThanTheSpecialPieces) {
  EXPECT_EQ(testing::message_of<Error>([] { Vocabulary vocabulary(2); }),
            "a vocabulary of 2 pieces; 3 or more are needed");
}

}  // namespace convseq
