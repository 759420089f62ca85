#include "convseq/answer/answer.h"

#include <gtest/gtest.h>

#include <set>

#include "answer/table_engine.h"
#include "temp_folder.h"

namespace convseq {
using testing::message_of;
using testing::table_sources;
using testing::TableEngine;

class AnswerTest : public ::testing::Test {
 protected:
  TableEngine engine_{TableEngine::small_config()};
  std::vector<TokenIds> sources_ = table_sources();
  size_t rows_ = 0;
  LengthBatchOptions batches_ = {
      .max_rows = 4, .max_tokens = 20, .on_batch = [&](size_t rows) { rows_ += rows; }};
};

TEST_F(AnswerTest, GenerationsComeInTheOrderOfTheirSources) {
  const auto answers = generate_answers(engine_, sources_, {.max_tokens = 5}, batches_);
  EXPECT_EQ(rows_, sources_.size());
  std::set<TokenIds> different;
  for (size_t i = 0; i < sources_.size(); ++i) {
    EXPECT_EQ(answers[i].tokens,
              generate_greedy(engine_, {sources_[i]}, {.max_tokens = 5})[0].tokens);
    different.insert(answers[i].tokens);
  }
  EXPECT_GT(different.size(), 1u);
}

TEST_F(AnswerTest, LabelScoresComeInTheOrderOfTheirSources) {
  const std::vector<TokenIds> labels{{2}, {3}, {4, 5}, {}};
  const auto scores = score_labels(LabelScorer(engine_, labels), sources_, batches_);
  ASSERT_EQ(scores.size(), sources_.size());
  for (size_t i = 0; i < sources_.size(); ++i) {
    std::vector<double> expected;
    for (TokenIds label : labels) {
      label.push_back(1);
      expected.push_back(engine_.log_probability(sources_[i], label));
    }
    EXPECT_EQ(scores[i], expected);
  }
  EXPECT_GT(std::set<std::vector<double>>(scores.begin(), scores.end()).size(), 1u);
}

TEST_F(AnswerTest, ClassScoresComeInTheOrderOfTheirSources) {
  const auto scores = score_classes(engine_, sources_, batches_);
  ASSERT_EQ(scores.size(), sources_.size());
  for (size_t i = 0; i < sources_.size(); ++i) {
    EXPECT_EQ(scores[i], engine_.classify(*engine_.encode({sources_[i]}))[0]);
  }
  EXPECT_GT(std::set<std::vector<double>>(scores.begin(), scores.end()).size(), 1u);
}

TEST_F(AnswerTest, LikelihoodsComeInTheOrderOfTheirTargets) {
  std::vector<TokenIds> targets;
  for (size_t i = 0; i < sources_.size(); ++i) targets.emplace_back(i + 1, 2);
  const auto nlls = answer_nlls(engine_, sources_, targets, batches_);
  for (size_t i = 0; i < sources_.size(); ++i) {
    EXPECT_EQ(nlls[i].tokens, std::ssize(targets[i]));
    EXPECT_EQ(nlls[i].nll, -engine_.log_probability(sources_[i], targets[i]));
  }
}

TEST_F(AnswerTest, NoSourcesGiveNoAnswers) {
  EXPECT_TRUE(generate_answers(engine_, {}, {}, batches_).empty());
  EXPECT_TRUE(answer_nlls(engine_, {}, {}, batches_).empty());
}

TEST_F(AnswerTest, RefusesIdsOutsideTheVocabulary) {
  EXPECT_EQ(message_of<Error>([&] {
              score_classes(engine_, {{2, 6}});
            }),
            "token id 6 is outside the model's vocabulary of 6; use the tokenizer that the model "
            "was trained with");
}

}  // namespace convseq
