#include "convseq/spec/vocabulary_check.h"

#include <gtest/gtest.h>

#include "temp_folder.h"

namespace convseq {
using testing::message_of;

TEST(VocabularyCheck, WantsARowForEveryPieceAndNoMore) {
  const Vocabulary vocabulary(400);  // 500 ids with its sentinels, padded to 512
  ModelConfig config;
  for (const int64_t rows : {400, 450, 512, 1000}) {
    config.vocab_size = rows;
    EXPECT_NO_THROW(check_vocabulary(config, vocabulary, "t")) << rows;
  }
  config.vocab_size = 399;
  EXPECT_EQ(
      message_of<Error>([&] { check_vocabulary(config, vocabulary, "t"); }),
      "t: the tokenizer has 400 pieces, the model's vocab_size is 399; use the tokenizer that "
      "the model was trained with");
}

TEST(VocabularyCheck, RefusesIdsWithoutARow) {
  ModelConfig config;
  config.vocab_size = 450;
  EXPECT_NO_THROW(check_ids(config, std::vector<int32_t>{0, 449}));
  for (const int32_t id : {450, -1}) {
    EXPECT_EQ(message_of<Error>([&] {
                check_ids(config, std::vector<int32_t>{3, id});
              }),
              fmt::format("token id {} is outside the model's vocabulary of 450; use the tokenizer "
                          "that the model was trained with",
                          id));
  }
}

}  // namespace convseq
