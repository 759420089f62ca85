#include "convseq/answer/greedy.h"

#include "infer/infer_table.h"

namespace convseq {
using testing::every_model_and_type;
using testing::infer_case_name;
using testing::InferTable;
using testing::make_model;
using testing::model_cases;
using testing::parallel_log_likelihood;
using testing::random_ids;

namespace {

constexpr int64_t kMaxTokens = 7;

class GreedyTable : public InferTable {};
class GreedyInFloat64 : public InferTable {};  // elsewhere rounding may turn a near tie

TEST_P(GreedyTable, ChoosesWhatTheParallelPassFindsLikeliest) {
  const auto sources = random_ids({8, 3, 1, 0, 6, 6});
  bool some_end_before_others = false;
  // Every token once as the EOS: some rows then end early, some late, some never.
  for (config_.eos_token_id = 0; config_.eos_token_id < config_.vocab_size;
       ++config_.eos_token_id) {
    const auto model = make_model(config_, dtype_);
    TorchEngine engine(*model);
    const auto generations = generate_greedy(engine, sources, {.max_tokens = kMaxTokens});
    ASSERT_EQ(generations.size(), sources.size());
    for (size_t row = 0; row < sources.size(); ++row) {
      TokenIds tokens = generations[row].tokens;
      some_end_before_others |= generations[row].ended != generations[0].ended;
      const auto log = parallel_log_likelihood(*model, sources[row], tokens);
      if (generations[row].ended) tokens.push_back(static_cast<int32_t>(config_.eos_token_id));
      EXPECT_TRUE(generations[row].ended || tokens.size() == kMaxTokens);
      double sum = 0;
      for (size_t i = 0; i < tokens.size(); ++i) {
        const auto step = log[static_cast<int64_t>(i)];
        sum += step[tokens[i]].item<double>();
        EXPECT_GE(step[tokens[i]].item<double>(), step.max().item<double>() - tolerance_);
        const bool is_eos = tokens[i] == config_.eos_token_id;
        EXPECT_EQ(is_eos, generations[row].ended && i + 1 == tokens.size());
      }
      EXPECT_NEAR(generations[row].log_probability, sum, std::max(tolerance_, 1e-6) * (1 - sum));
    }
  }
  EXPECT_TRUE(some_end_before_others);
}

TEST_P(GreedyInFloat64, RowsDoNotHearTheirNeighbours) {
  const auto sources = random_ids({8, 3, 1, 0, 6, 6});
  for (config_.eos_token_id = 0; config_.eos_token_id < config_.vocab_size;
       config_.eos_token_id += 3) {
    const auto model = make_model(config_, dtype_);
    TorchEngine engine(*model);
    const auto together = generate_greedy(engine, sources, {.max_tokens = kMaxTokens});
    for (size_t row = 0; row < sources.size(); ++row) {
      const auto alone = generate_greedy(engine, {sources[row]}, {.max_tokens = kMaxTokens});
      EXPECT_EQ(together[row].tokens, alone[0].tokens);
      EXPECT_EQ(together[row].ended, alone[0].ended);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Models, GreedyTable, every_model_and_type(), infer_case_name);
INSTANTIATE_TEST_SUITE_P(Models, GreedyInFloat64,
                         ::testing::Combine(::testing::ValuesIn(model_cases()),
                                            ::testing::Values(torch::kFloat64)),
                         infer_case_name);

}  // namespace

TEST(Greedy, ALongerLimitOnlyGoesOn) {
  torch::manual_seed(5);
  const auto model = make_model(model_cases()[3].config);
  TorchEngine engine(*model);
  const auto sources = random_ids({5, 2, 9});
  const auto longest = generate_greedy(engine, sources, {.max_tokens = 9});
  for (int64_t limit : {1, 2, 5}) {
    const auto shorter = generate_greedy(engine, sources, {.max_tokens = limit});
    for (size_t row = 0; row < 3; ++row) {
      TokenIds expected = longest[row].tokens;
      expected.resize(std::min(expected.size(), static_cast<size_t>(limit)));
      EXPECT_EQ(shorter[row].tokens, expected);
    }
  }
}

TEST(Greedy, AnswersWithoutDropoutInTheMidstOfTraining) {
  torch::manual_seed(5);
  ModelConfig config = model_cases()[3].config;
  config.dropout = 0.5;
  const auto model = make_model(config);
  TorchEngine engine(*model);
  const auto sources = random_ids({9});
  const auto expected = generate_greedy(engine, sources, {.max_tokens = 9});
  model->train();
  EXPECT_EQ(generate_greedy(engine, sources, {.max_tokens = 9})[0].tokens, expected[0].tokens);
  EXPECT_TRUE(model->is_training());
  EXPECT_TRUE(torch::GradMode::is_enabled());
}

TEST(GpuGreedy, ChoosesWhatTheCpuFindsLikeliest) {
  ASSERT_TRUE(torch::cuda::is_available()) << "this test needs a GPU";
  torch::manual_seed(5);
  const auto sources = random_ids({8, 3, 1, 0, 6, 6});
  for (const auto& each : model_cases()) {
    for (auto dtype : {torch::kFloat32, torch::kBFloat16}) {
      ModelConfig config = each.config;
      for (config.eos_token_id = 1; config.eos_token_id < 19; config.eos_token_id += 6) {
        const auto reference = make_model(config), model = make_model(config, dtype);
        model->to(torch::kCUDA);
        TorchEngine engine(*model);
        const auto generations = generate_greedy(engine, sources, {.max_tokens = kMaxTokens});
        for (size_t row = 0; row < sources.size(); ++row) {
          const TokenIds& tokens = generations[row].tokens;
          const auto log = parallel_log_likelihood(*reference, sources[row], tokens);
          for (size_t i = 0; i < tokens.size(); ++i) {
            const auto step = log[static_cast<int64_t>(i)];
            EXPECT_GE(step[tokens[i]].item<double>(),
                      step.max().item<double>() - (dtype == torch::kFloat32 ? 1e-3 : 0.15))
                << each.name;
          }
        }
      }
    }
  }
}

}  // namespace convseq
