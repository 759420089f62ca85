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

std::vector<TokenNll> target_nlls(Engine& engine, const std::vector<TokenIds>& sources,
                                  const std::vector<TokenIds>& targets) {
  return engine.token_nll(*engine.encode(sources), targets);
}

class TargetNllTable : public InferTable {};

TEST_P(TargetNllTable, SumsOverRealTargetsAlone) {
  const auto model = make_model(config_, dtype_);
  TorchEngine engine(*model);
  const auto sources = random_ids({8, 3, 1, 0}), targets = random_ids({2, 6, 1, 4});
  const auto nlls = target_nlls(engine, sources, targets);
  ASSERT_EQ(nlls.size(), 4u);
  for (size_t row = 0; row < 4; ++row) {
    const auto log = parallel_log_likelihood(*model, sources[row], targets[row]);
    double nll = 0;
    for (size_t i = 0; i < targets[row].size(); ++i) {
      nll -= log[static_cast<int64_t>(i)][targets[row][i]].item<double>();
    }
    EXPECT_NEAR(nlls[row].nll, nll, tolerance_ * (1 + nll));
    EXPECT_EQ(nlls[row].tokens, static_cast<int64_t>(targets[row].size()));
  }
}

INSTANTIATE_TEST_SUITE_P(Models, TargetNllTable, every_model_and_type(), infer_case_name);

}  // namespace

TEST(TargetNll, FindsEveryTokenRightThatGreedyDecodingSaid) {
  torch::manual_seed(5);
  for (const auto& each : model_cases()) {
    const auto model = make_model(each.config, torch::kFloat64);
    TorchEngine engine(*model);
    const auto sources = random_ids({8, 3, 1});
    std::vector<TokenIds> targets;
    for (const auto& said : generate_greedy(engine, sources, {.max_tokens = 6})) {
      targets.push_back(said.tokens);
      if (said.ended) targets.back().push_back(1);
    }
    for (const auto& said : target_nlls(engine, sources, targets)) {
      EXPECT_EQ(said.right, said.tokens) << each.name;
    }
    targets[0][0] = (targets[0][0] + 1) % 19;
    EXPECT_LT(target_nlls(engine, sources, targets)[0].right,
              static_cast<int64_t>(targets[0].size()));
  }
}

}  // namespace convseq
