#include "convseq/infer/answer.h"

#include <set>

#include "infer/infer_table.h"

namespace convseq {
using testing::make_model;
using testing::model_cases;
using testing::random_ids;

TEST(LengthBatches, HoldEverySequenceOnceWithinTheirLimits) {
  const auto sequences = random_ids({3, 9, 0, 1, 30, 9, 2, 2, 7, 1});
  const LengthBatchOptions options{.max_rows = 3, .max_tokens = 20};
  std::set<size_t> seen;
  size_t last = 30;  // the longest first
  for (const auto& batch : batches_by_length(sequences, options)) {
    ASSERT_FALSE(batch.empty());
    EXPECT_LE(batch.size(), 3u);
    const size_t width = sequences[batch[0]].size();
    EXPECT_TRUE(batch.size() == 1 || batch.size() * width <= 20);
    for (size_t number : batch) {
      EXPECT_TRUE(seen.insert(number).second);
      EXPECT_LE(sequences[number].size(), last);
      last = sequences[number].size();
    }
  }
  EXPECT_EQ(seen.size(), sequences.size());
  EXPECT_TRUE(batches_by_length({}, options).empty());
}

class AnswerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    torch::manual_seed(5);
    model_ = make_model(model_cases()[3].config, torch::kFloat64);
    sources_ = random_ids({3, 9, 1, 7, 2, 9});
    batches_ = {.max_rows = 4, .max_tokens = 20, .on_batch = [&](size_t rows) { rows_ += rows; }};
  }

  std::shared_ptr<Seq2Seq> model_;
  std::vector<TokenIds> sources_;
  LengthBatchOptions batches_;
  size_t rows_ = 0;
};

TEST_F(AnswerTest, GenerationsComeInTheOrderOfTheirSources) {
  const auto answers = generate_answers(*model_, sources_, {.max_tokens = 5}, batches_);
  EXPECT_EQ(rows_, sources_.size());
  for (size_t i = 0; i < sources_.size(); ++i) {
    EXPECT_EQ(answers[i].tokens,
              generate_greedy(*model_, pad({sources_[i]}, {}), {.max_tokens = 5})[0].tokens);
  }
}

TEST_F(AnswerTest, LabelsAreTheLikeliestOfEachSource) {
  std::vector<TokenIds> labels;
  for (int32_t token = 2; token < 19; ++token) labels.push_back({token});
  const LabelScorer scorer(*model_, labels);
  const auto chosen = choose_labels(scorer, sources_, batches_);
  for (size_t i = 0; i < sources_.size(); ++i) {
    const auto best = scorer.score(pad({sources_[i]}, {})).argmax().item<int64_t>();
    EXPECT_EQ(chosen[i], static_cast<size_t>(best));
  }
  EXPECT_GT(std::set<size_t>(chosen.begin(), chosen.end()).size(), 1u);
}

TEST_F(AnswerTest, LikelihoodsComeInTheOrderOfTheirTargets) {
  const auto targets = random_ids({1, 2, 3, 4, 5, 6});
  const auto nlls = answer_nlls(*model_, sources_, targets, batches_);
  for (size_t i = 0; i < sources_.size(); ++i) {
    const auto alone = target_nlls(*model_, pad({sources_[i]}, {}), pad({targets[i]}, {}))[0];
    EXPECT_EQ(nlls[i].tokens, static_cast<int64_t>(i) + 1);
    EXPECT_NEAR(nlls[i].nll, alone.nll, 1e-9);
  }
}

TEST_F(AnswerTest, NoSourcesGiveNoAnswers) {
  EXPECT_TRUE(generate_answers(*model_, {}, {}, batches_).empty());
  EXPECT_TRUE(answer_nlls(*model_, {}, {}, batches_).empty());
}

}  // namespace convseq
