#include "convseq/answer/predict/predictor.h"

#include <gtest/gtest.h>

#include <cmath>

#include "answer/table_engine.h"
#include "temp_folder.h"

namespace convseq {
using testing::message_of;
using testing::table_sources;
using testing::TableEngine;

class PredictorTest : public ::testing::Test {
 protected:
  // The sources of the table with rows that have an error between them.
  std::vector<PredictorInput> inputs() {
    std::vector<PredictorInput> all;
    for (size_t i = 0; i < sources_.size(); ++i) {
      const auto row = static_cast<int64_t>(2 * i + 1);
      all.push_back({.row = row, .source = sources_[i], .tokens_cut = row});
      all.push_back({.row = row + 1, .error = "bad"});
    }
    return all;
  }

  TableEngine engine_{TableEngine::small_config()};
  std::vector<TokenIds> sources_ = table_sources();
  const std::vector<std::string> labels_ = {"a", "b", "c"};
  const LengthBatchOptions batches_ = {.max_rows = 2, .max_tokens = 8};
};

TEST_F(PredictorTest, ProbabilitiesAreTheSoftmaxOfTheHead) {
  Predictor predictor(engine_, {.by = AnswerBy::Head,
                                .decision = LabelDecision(LabelKind::Single, labels_),
                                .batches = batches_});
  const auto predictions = predictor.predict(inputs());
  ASSERT_EQ(predictions.size(), 2 * sources_.size());
  for (size_t i = 0; i < sources_.size(); ++i) {
    const Prediction& prediction = predictions[2 * i];
    const auto scores = engine_.classify(*engine_.encode({sources_[i]}))[0];
    double sum = 0;
    for (double score : scores) sum += std::exp(score);
    for (size_t k = 0; k < scores.size(); ++k) {
      EXPECT_NEAR(prediction.answer.probabilities[k], std::exp(scores[k]) / sum, 1e-12);
    }
    EXPECT_EQ(prediction.tokens_cut, prediction.row);
    EXPECT_EQ(prediction.error, "");
    EXPECT_EQ(predictions[2 * i + 1].row, prediction.row + 1);
    EXPECT_EQ(predictions[2 * i + 1].error, "bad");
    EXPECT_TRUE(predictions[2 * i + 1].answer.probabilities.empty());
  }
}

TEST_F(PredictorTest, ScoresThatAreNotFiniteAreAnErrorOfTheirRow) {
  class Overflowing : public TableEngine {
   public:
    explicit Overflowing(double overflow)
        : TableEngine(TableEngine::small_config()), overflow_(overflow) {}
    ClassScores classify(const Encoded& encoded) override {
      ClassScores scores = TableEngine::classify(encoded);
      for (auto& row : scores) {
        if (row[0] > 1) row[1] = overflow_;
      }
      return scores;
    }

   private:
    double overflow_;
  };
  std::vector<PredictorInput> rows;
  for (int32_t id = 2; id < 6; ++id) {
    rows.push_back({.row = id, .source = {id}});
    rows.push_back({.row = 10 + id, .source = {id, 5}});
  }
  for (const LabelKind kind : {LabelKind::Single, LabelKind::Multi}) {
    for (const double overflow : {std::nan(""), HUGE_VAL, -HUGE_VAL}) {
      Overflowing engine(overflow);
      Predictor predictor(
          engine,
          {.by = AnswerBy::Head, .decision = LabelDecision(kind, labels_), .batches = batches_});
      size_t failed = 0;
      for (const Prediction& each : predictor.predict(rows)) {
        const bool is_finite = each.answer.probabilities.size() == labels_.size();
        const auto error = fmt::format("row {}: the model's scores are not finite", each.row);
        EXPECT_EQ(each.error, is_finite ? "" : error);
        failed += is_finite ? 0 : 1;
      }
      EXPECT_GT(failed, 0u) << overflow;
      EXPECT_LT(failed, rows.size()) << overflow;
    }
  }
}

TEST_F(PredictorTest, LabelScoresAreProbabilitiesToo) {
  const std::vector<TokenIds> tokens = {{2}, {3, 4}, {5}};
  Predictor predictor(engine_, {.by = AnswerBy::Labels,
                                .decision = LabelDecision(LabelKind::Single, labels_),
                                .label_tokens = tokens,
                                .batches = batches_});
  const auto predictions = predictor.predict(inputs());
  for (size_t i = 0; i < sources_.size(); ++i) {
    std::vector<double> likelihoods;
    double sum = 0;
    for (TokenIds label : tokens) {
      label.push_back(1);
      likelihoods.push_back(std::exp(engine_.log_probability(sources_[i], label)));
      sum += likelihoods.back();
    }
    for (size_t k = 0; k < tokens.size(); ++k) {
      EXPECT_NEAR(predictions[2 * i].answer.probabilities[k], likelihoods[k] / sum, 1e-6);
    }
  }
}

TEST_F(PredictorTest, IndependentLabelsAreSigmoids) {
  Predictor predictor(engine_,
                      {.by = AnswerBy::Head, .decision = LabelDecision(LabelKind::Multi, labels_)});
  const auto predictions = predictor.predict({{.row = 1, .source = sources_[0]}});
  const auto scores = engine_.classify(*engine_.encode({sources_[0]}))[0];
  for (size_t k = 0; k < scores.size(); ++k) {
    EXPECT_NEAR(predictions[0].answer.probabilities[k], 1 / (1 + std::exp(-scores[k])), 1e-12);
  }
}

TEST_F(PredictorTest, WithoutLabelsItWritesText) {
  const auto spell = [](std::span<const int32_t> ids) {
    std::string text;
    for (int32_t id : ids) text += static_cast<char>('a' + id);
    return text;
  };
  Predictor predictor(
      engine_, {.by = AnswerBy::Greedy, .decode = spell, .max_tokens = 5, .batches = batches_});
  EXPECT_FALSE(predictor.decision());
  const auto predictions = predictor.predict(inputs());
  for (size_t i = 0; i < sources_.size(); ++i) {
    const auto alone = generate_greedy(engine_, {sources_[i]}, {.max_tokens = 5})[0].tokens;
    EXPECT_EQ(predictions[2 * i].text, spell(alone));
  }
}

TEST_F(PredictorTest, NoRowsAndOnlyBadRowsAreAnsweredToo) {
  Predictor predictor(
      engine_, {.by = AnswerBy::Head, .decision = LabelDecision(LabelKind::Single, labels_)});
  EXPECT_TRUE(predictor.predict({}).empty());
  EXPECT_EQ(predictor.predict({{.row = 4, .error = "bad"}})[0].error, "bad");
}

}  // namespace convseq
