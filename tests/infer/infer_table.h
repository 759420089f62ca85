#pragma once

#include <gtest/gtest.h>

#include "convseq/infer/padded_ids.h"
#include "convseq/infer/torch_engine.h"
#include "convseq/model/seq2seq.h"
#include "model/model_table.h"
#include "tensor_checks.h"

namespace convseq::testing {

inline std::shared_ptr<Seq2Seq> make_model(const ModelConfig& config,
                                           torch::Dtype dtype = torch::kFloat32) {
  auto model = std::make_shared<Seq2Seq>(config);
  model->initialise(3);
  model->to(dtype);
  model->eval();
  return model;
}

// Random sequences of the given lengths; the ids are those of the tiny models.
inline std::vector<TokenIds> random_ids(const std::vector<int64_t>& lengths) {
  std::vector<TokenIds> sequences;
  for (int64_t length : lengths) {
    const auto ids = torch::randint(19, {length}, torch::kInt32);
    sequences.emplace_back(ids.data_ptr<int32_t>(), ids.data_ptr<int32_t>() + length);
  }
  return sequences;
}

// What the parallel pass says follows each prefix of `target`, the source alone and unpadded:
// [T+1,V] log-probabilities in float64.
inline torch::Tensor parallel_log_likelihood(Seq2Seq& model, const TokenIds& source,
                                             TokenIds target) {
  const torch::NoGradGuard no_grad;
  target.insert(target.begin(), static_cast<int32_t>(model.config().decoder_start_token_id));
  const PaddedIds from = pad({source}, {}), to = pad({target}, {});
  return model.forward(from.ids, from.lengths, to.ids)[0].to(torch::kFloat64).log_softmax(-1);
}

class InferTable : public ::testing::TestWithParam<std::tuple<ModelCase, torch::Dtype>> {
 protected:
  void SetUp() override {
    torch::manual_seed(5);
    config_ = std::get<0>(GetParam()).config;
    dtype_ = std::get<1>(GetParam());
    tolerance_ = 4 * tolerance_of(dtype_);
  }

  ModelConfig config_;
  torch::Dtype dtype_{};
  double tolerance_ = 0;
};

inline auto every_model_and_type() {
  return ::testing::Combine(::testing::ValuesIn(model_cases()),
                            ::testing::Values(torch::kFloat32, torch::kFloat64, torch::kBFloat16));
}

inline std::string infer_case_name(const ::testing::TestParamInfo<InferTable::ParamType>& info) {
  return std::get<0>(info.param).name + "_" + torch::toString(std::get<1>(info.param));
}

}  // namespace convseq::testing
