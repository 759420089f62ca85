#include "convseq/answer/label_scorer.h"

#include <gtest/gtest.h>

#include "answer/table_engine.h"
#include "temp_folder.h"

namespace convseq {
using testing::message_of;
using testing::table_sources;
using testing::TableEngine;

TEST(LabelScorer, ScoresEachLabelWithItsEos) {
  TableEngine engine(TableEngine::small_config());
  const auto scores = LabelScorer(engine, {{2, 3}, {}, {4}}).score(table_sources());
  for (size_t i = 0; i < scores.size(); ++i) {
    const TokenIds source = table_sources()[i];
    EXPECT_EQ(scores[i], (std::vector<double>{engine.log_probability(source, {2, 3, 1}),
                                              engine.log_probability(source, {1}),
                                              engine.log_probability(source, {4, 1})}));
  }
}

TEST(LabelScorer, RefusesLabelsThatTheModelCannotSay) {
  TableEngine engine(TableEngine::small_config());
  EXPECT_EQ(message_of<Error>([&] { LabelScorer(engine, {}); }),
            "label scoring: there are no labels");
  EXPECT_EQ(message_of<Error>([&] {
              LabelScorer(engine, {{3}, {4, 6}});
            }),
            "label scoring: token 6 of a label is not in the model's vocabulary of 6");
}

}  // namespace convseq
