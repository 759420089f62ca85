#include "convseq/infer/torch_engine.h"

#include "convseq/answer/greedy.h"
#include "infer/infer_table.h"

namespace convseq {
using testing::every_model_and_type;
using testing::expect_close;
using testing::infer_case_name;
using testing::InferTable;
using testing::make_model;
using testing::model_cases;
using testing::random_ids;

namespace {

class TorchEngineTable : public InferTable {};

TEST_P(TorchEngineTable, StepsWithGivenTokensAddUpToTheScore) {
  const auto model = make_model(config_, dtype_);
  TorchEngine engine(*model);
  const auto encoded = engine.encode(random_ids({8, 3, 1}));
  TokenIds target = random_ids({5})[0];
  for (int32_t& id : target) id = std::max(id, 2);  // no EOS yet
  target.push_back(1);
  const auto decoding = engine.start(*encoded, std::ssize(target));
  for (const int32_t id : target) engine.step(*decoding, {.given = std::vector(3, id)});
  std::vector<double> sums(3);
  size_t read = 0;
  for (const ChosenTokens& step : engine.read(*decoding)) {
    EXPECT_EQ(step.ids, TokenIds(3, target[read++]));
    for (size_t row = 0; row < 3; ++row) sums[row] += step.log_probabilities[row];
  }
  EXPECT_EQ(read, target.size());
  EXPECT_TRUE(engine.read(*decoding).empty());
  const auto scores = engine.score(*encoded, {target});
  for (size_t row = 0; row < 3; ++row) {
    const double tolerance = std::max(tolerance_, 1e-6);  // the steps' are in fp32
    EXPECT_NEAR(sums[row], scores[row][0], tolerance * (1 - scores[row][0]));
  }
}

TEST_P(TorchEngineTable, EndedRowsEmitPadding) {
  const auto model = make_model(config_, dtype_);
  TorchEngine engine(*model);
  const auto decoding = engine.start(*engine.encode(random_ids({4, 2})), 3);
  for (const std::vector<int32_t>& given : {TokenIds{5, 1}, {6, 7}, {1, 8}}) {
    engine.step(*decoding, {.given = given});
  }
  const auto steps = engine.read(*decoding);
  EXPECT_EQ(steps[0].ids, (TokenIds{5, 1}));
  EXPECT_EQ(steps[1].ids, (TokenIds{6, 0}));
  EXPECT_EQ(steps[2].ids, (TokenIds{1, 0}));
}

INSTANTIATE_TEST_SUITE_P(Models, TorchEngineTable, every_model_and_type(), infer_case_name);

// Reads rarely, and leaves ended rows in the batch until half of them are.
class PacedEngine : public TorchEngine {
 public:
  using TorchEngine::TorchEngine;
  DecodePace pace() const override { return {.steps_between_reads = 3, .compact_below = 0.5}; }
};

TEST(TorchEngine, GeneratesTheSameAtAnotherPace) {
  torch::manual_seed(5);
  const auto sources = random_ids({8, 3, 1, 0, 6, 6});
  for (const auto& each : model_cases()) {
    ModelConfig config = each.config;
    for (config.eos_token_id = 0; config.eos_token_id < 19; config.eos_token_id += 2) {
      const auto model = make_model(config, torch::kFloat64);
      TorchEngine engine(*model);
      PacedEngine paced(*model);
      const auto expected = generate_greedy(engine, sources, {.max_tokens = 10});
      const auto found = generate_greedy(paced, sources, {.max_tokens = 10});
      for (size_t row = 0; row < sources.size(); ++row) {
        EXPECT_EQ(found[row].tokens, expected[row].tokens) << each.name;
        EXPECT_EQ(found[row].ended, expected[row].ended);
        EXPECT_NEAR(found[row].log_probability, expected[row].log_probability, 1e-5);
      }
    }
  }
}

// The logits of each source alone and unpadded.
torch::Tensor head_logits(Seq2Seq& model, const std::vector<TokenIds>& sources) {
  const torch::NoGradGuard no_grad;
  std::vector<torch::Tensor> rows;
  for (const TokenIds& each : sources) {
    const PaddedIds source = pad({each}, {});
    rows.push_back(model.classify(model.encode(source.ids, source.lengths), source.lengths));
  }
  return torch::cat(rows);
}

TEST(TorchEngine, ClassifiesByThePooledHead) {
  torch::manual_seed(5);
  ModelConfig config = model_cases()[3].config;
  config.classes = 3;
  const auto model = make_model(config);
  TorchEngine engine(*model);
  const auto sources = random_ids({8, 3, 1, 6});
  const auto expected = head_logits(*model, sources);
  const auto scores = engine.classify(*engine.encode(sources));
  ASSERT_EQ(scores.size(), sources.size());
  for (size_t row = 0; row < sources.size(); ++row) {
    expect_close(torch::tensor(scores[row], torch::kFloat64), expected[static_cast<int64_t>(row)],
                 1e-5);
  }
}

}  // namespace
}  // namespace convseq
