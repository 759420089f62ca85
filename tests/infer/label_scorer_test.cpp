#include "convseq/answer/label_scorer.h"

#include "infer/infer_table.h"

namespace convseq {
using testing::every_model_and_type;
using testing::expect_close;
using testing::infer_case_name;
using testing::InferTable;
using testing::make_model;
using testing::model_cases;
using testing::parallel_log_likelihood;
using testing::random_ids;

namespace {

// log p(label, EOS | source) of one pair, by the parallel pass.
double expected_score(Seq2Seq& model, const TokenIds& source, const TokenIds& label) {
  const auto log = parallel_log_likelihood(model, source, label);
  double sum = 0;
  for (size_t i = 0; i < label.size(); ++i) {
    sum += log[static_cast<int64_t>(i)][label[i]].item<double>();
  }
  return sum + log[-1][model.config().eos_token_id].item<double>();
}

torch::Tensor expected_scores(Seq2Seq& model, const std::vector<TokenIds>& sources,
                              const std::vector<TokenIds>& labels) {
  auto scores = torch::empty(
      {static_cast<int64_t>(sources.size()), static_cast<int64_t>(labels.size())}, torch::kFloat64);
  for (size_t b = 0; b < sources.size(); ++b) {
    for (size_t k = 0; k < labels.size(); ++k) {
      scores[static_cast<int64_t>(b)][static_cast<int64_t>(k)] =
          expected_score(model, sources[b], labels[k]);
    }
  }
  return scores;
}

torch::Tensor label_scores(Seq2Seq& model, const std::vector<TokenIds>& sources,
                           const std::vector<TokenIds>& labels, TorchEngineOptions options = {}) {
  TorchEngine engine(model, options);
  std::vector<torch::Tensor> rows;
  for (const auto& row : LabelScorer(engine, labels).score(sources)) {
    rows.push_back(torch::tensor(row, torch::kFloat64));
  }
  return torch::stack(rows);
}

class LabelScorerTable : public InferTable {};

TEST_P(LabelScorerTable, EqualsTheParallelPassPairByPair) {
  const auto model = make_model(config_, dtype_);
  const auto sources = random_ids({8, 3, 1, 0, 6});
  for (const auto& labels : {random_ids({1, 4, 2}), random_ids({3}), random_ids({0, 1})}) {
    expect_close(label_scores(*model, sources, labels), expected_scores(*model, sources, labels),
                 tolerance_);
  }
}

TEST_P(LabelScorerTable, IsTheSameInPieces) {
  const auto model = make_model(config_, dtype_);
  const auto labels = random_ids({2, 1, 3}), sources = random_ids({5, 2, 9, 1, 4});
  const auto whole = label_scores(*model, sources, labels);
  for (int64_t rows : {1, 6, 7}) {
    expect_close(label_scores(*model, sources, labels, {.label_rows = rows}), whole, tolerance_);
  }
}

INSTANTIATE_TEST_SUITE_P(Models, LabelScorerTable, every_model_and_type(), infer_case_name);

}  // namespace

TEST(GpuLabelScorer, EqualsTheCpu) {
  ASSERT_TRUE(torch::cuda::is_available()) << "this test needs a GPU";
  torch::manual_seed(5);
  const auto sources = random_ids({8, 3, 1, 0, 6}), labels = random_ids({1, 4, 2});
  for (const auto& each : model_cases()) {
    const auto model = make_model(each.config);
    const auto expected = label_scores(*model, sources, labels);
    model->to(torch::kCUDA);
    for (auto dtype : {torch::kFloat32, torch::kBFloat16}) {
      model->to(dtype);
      expect_close(label_scores(*model, sources, labels), expected,
                   dtype == torch::kFloat32 ? 1e-3 : 0.1, each.name);
    }
  }
}

}  // namespace convseq
