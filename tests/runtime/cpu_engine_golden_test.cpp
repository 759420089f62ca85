#include <gtest/gtest.h>

#include <cmath>

#include "convseq/base/error.h"
#include "convseq/runtime/cpu_engine.h"
#include "goldens/golden_models.h"
#include "runtime/model_folder.h"
#include "temp_folder.h"

// Compares with an independent PyTorch model, tests/goldens/make_goldens.py.
namespace convseq {
using testing::golden_config;
using testing::golden_file;
using testing::golden_models;
using testing::golden_parameters;
using testing::TempFolder;
using testing::WeightsFile;

namespace {

template <class T>
std::vector<T> values_of(const TensorView& view) {
  std::vector<T> values(view.bytes.size() / sizeof(T));
  std::memcpy(values.data(), view.bytes.data(), view.bytes.size());
  return values;
}

// The rows of [B,T] up to their lengths.
std::vector<TokenIds> rows_of(const TensorView& ids, const TensorView& lengths) {
  const auto all = values_of<int64_t>(ids);
  std::vector<TokenIds> rows;
  for (const int64_t length : values_of<int64_t>(lengths)) {
    const auto first = all.begin() + std::ssize(rows) * ids.shape[1];
    rows.emplace_back(first, first + length);
  }
  return rows;
}

class CpuEngineGolden : public ::testing::TestWithParam<std::string> {
 protected:
  CpuEngineGolden() {
    file_ = SafetensorsFile::open(golden_file(GetParam()));
    WeightsFile weights;
    for (const auto& [name, view] : golden_parameters(file_->tensors())) {
      weights.tensors[name] = {view.type, view.shape, {view.bytes.begin(), view.bytes.end()}};
    }
    weights.write(folder_ / "model", golden_config(file_->metadata()));
    engine_ = load_cpu_engine(folder_ / "model", {.threads = 2});
    sources_ = rows_of(tensor("source"), tensor("source_lengths"));
    targets_ = rows_of(tensor("labels"), tensor("target_lengths"));
  }

  const TensorView& tensor(const std::string& name) const { return file_->tensors().at(name); }

  // log p of each token of a target.
  std::vector<double> expected_log(size_t row) const {
    const TensorView& view = tensor("logits");
    const auto logits = values_of<float>(view);
    const auto vocabulary = static_cast<size_t>(view.shape[2]);
    const float* each = logits.data() + row * static_cast<size_t>(view.shape[1]) * vocabulary;
    std::vector<double> log;
    for (const int32_t id : targets_[row]) {
      double sum = 0;
      for (size_t i = 0; i < vocabulary; ++i) sum += std::exp(double{each[i]});
      log.push_back(each[id] - std::log(sum));
      each += vocabulary;
    }
    return log;
  }

  TempFolder folder_;
  std::shared_ptr<const SafetensorsFile> file_;
  std::unique_ptr<Engine> engine_;
  std::vector<TokenIds> sources_, targets_;
};

TEST_P(CpuEngineGolden, TeacherForcingGivesPyTorchsLikelihood) {
  const auto nlls = engine_->token_nll(*engine_->encode(sources_), targets_);
  ASSERT_EQ(nlls.size(), sources_.size());
  for (size_t row = 0; row < nlls.size(); ++row) {
    double nll = 0;
    for (const double log : expected_log(row)) nll -= log;
    EXPECT_NEAR(nlls[row].nll, nll, 1e-5 * (1 + nll));
    EXPECT_EQ(nlls[row].tokens, std::ssize(targets_[row]));
  }
}

TEST_P(CpuEngineGolden, EachStepGivesPyTorchsLikelihood) {
  for (size_t row = 0; row < sources_.size(); ++row) {
    const auto expected = expected_log(row);
    const auto decoding =
        engine_->start(*engine_->encode({sources_[row]}), std::ssize(targets_[row]));
    for (const int32_t id : targets_[row]) engine_->step(*decoding, {.given = {&id, 1}});
    const auto steps = engine_->read(*decoding);
    bool ended = false;
    for (size_t i = 0; i < steps.size() && !ended; ++i) {
      EXPECT_NEAR(steps[i].log_probabilities[0], expected[i], 1e-5 * (1 - expected[i]));
      ended = targets_[row][i] == engine_->config().eos_token_id;
    }
  }
}

TEST_P(CpuEngineGolden, TheHeadGivesPyTorchsLogits) {
  if (engine_->config().classes == 0) {
    EXPECT_THROW(engine_->classify(*engine_->encode(sources_)), Error);
    return;
  }
  const auto expected = values_of<float>(tensor("class_logits"));
  size_t at = 0;
  for (const auto& row : engine_->classify(*engine_->encode(sources_))) {
    for (const double logit : row) EXPECT_NEAR(logit, expected[at++], 1e-5);
  }
  EXPECT_EQ(at, expected.size());
}

INSTANTIATE_TEST_SUITE_P(Models, CpuEngineGolden, ::testing::ValuesIn(golden_models()),
                         [](const auto& each) { return each.param; });

}  // namespace
}  // namespace convseq
