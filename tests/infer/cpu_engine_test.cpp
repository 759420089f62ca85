#include "convseq/runtime/cpu_engine.h"

#include "convseq/answer/greedy.h"
#include "convseq/model/checkpoint.h"
#include "convseq/model/hf_t5.h"
#include "convseq/spec/parameter_list.h"
#include "convseq/spec/presets.h"
#include "infer/infer_table.h"
#include "temp_folder.h"

// The libtorch model in fp32 is the oracle of the CPU engine.
namespace convseq {
namespace fs = std::filesystem;
using testing::make_model;
using testing::model_cases;
using testing::ModelCase;
using testing::random_ids;
using testing::TempFolder;

namespace {

// Every model, and every combination of norm, feed-forward and output that the table lacks.
std::vector<ModelCase> cpu_cases() {
  auto cases = model_cases();
  for (const ModelCase& each : model_cases()) {
    ModelCase other = each;
    other.name += "_other_parts";
    ModelConfig& config = other.config;
    const bool is_pre_norm = config.norm == NormStyle::PreRmsNorm;
    config.norm = is_pre_norm ? NormStyle::BranchLayerNorm : NormStyle::PreRmsNorm;
    config.ffn = is_pre_norm ? FeedForwardKind::Relu : FeedForwardKind::GatedGelu;
    config.tie_embeddings = !config.tie_embeddings;
    config.d_model = 40;
    config.d_ff = 72;
    config.kernel_sizes = {{4, 7}};
    if (config.mixer != MixerKind::Gated) config.glu = config.tap_softmax = !config.glu;
    cases.push_back(other);
  }
  for (ModelCase& each : cases) {
    each.config.classes = 3;
    each.config.max_positions = 140;
  }
  return cases;
}

class CpuEngineOracle : public ::testing::TestWithParam<std::tuple<ModelCase, CpuPrecision>> {
 protected:
  void SetUp() override {
    torch::manual_seed(5);
    const auto& [model_case, precision] = GetParam();
    model_ = make_model(model_case.config);
    {
      // Norms that do something, and a head with a bias.
      const torch::NoGradGuard no_grad;
      for (auto& each : model_->named_parameters()) {
        if (each.value().dim() == 1) each.value().add_(torch::randn_like(each.value()) * 0.2);
      }
    }
    save_model(folder_ / "model", *model_);
    oracle_ = std::make_unique<TorchEngine>(*model_);
    engine_ = load_cpu_engine(folder_ / "model", {.precision = precision, .threads = 2});
    tolerance_ = precision == CpuPrecision::Fp32   ? 1e-5
                 : precision == CpuPrecision::Bf16 ? 0.05
                                                   : 0.15;
  }

  void expect_near(const ClassScores& found, const ClassScores& expected) const {
    ASSERT_EQ(found.size(), expected.size());
    for (size_t row = 0; row < found.size(); ++row) {
      for (size_t k = 0; k < found[row].size(); ++k) {
        EXPECT_NEAR(found[row][k], expected[row][k], tolerance_ * (1 + std::abs(expected[row][k])));
      }
    }
  }

  TempFolder folder_;
  std::shared_ptr<Seq2Seq> model_;
  std::unique_ptr<TorchEngine> oracle_;
  std::unique_ptr<Engine> engine_;
  double tolerance_ = 0;
};

TEST_P(CpuEngineOracle, AnswersAsTheLibtorchModel) {
  const auto sources = random_ids({8, 3, 1, 0, 2, 6, 65, 130});
  const auto labels = random_ids({1, 4, 2}), targets = random_ids({2, 1, 7, 65, 130, 3, 6, 9});
  const auto found = engine_->encode(sources), expected = oracle_->encode(sources);
  expect_near(engine_->classify(*found), oracle_->classify(*expected));
  expect_near(engine_->score(*found, labels), oracle_->score(*expected, labels));
  const auto nlls = engine_->token_nll(*found, targets);
  const auto expected_nlls = oracle_->token_nll(*expected, targets);
  for (size_t row = 0; row < sources.size(); ++row) {
    EXPECT_NEAR(nlls[row].nll, expected_nlls[row].nll, tolerance_ * (1 + expected_nlls[row].nll));
    EXPECT_EQ(nlls[row].tokens, expected_nlls[row].tokens);
    if (tolerance_ < 1e-4) {
      EXPECT_EQ(nlls[row].right, expected_nlls[row].right);
    }
  }
}

class CpuEngineFp32Oracle : public CpuEngineOracle {};  // elsewhere rounding may turn a near tie

TEST_P(CpuEngineFp32Oracle, WritesWhatTheLibtorchModelWrites) {
  const auto sources = random_ids({8, 3, 1, 0, 2, 6, 65, 130});
  const auto found = generate_greedy(*engine_, sources, {.max_tokens = 70});
  const auto expected = generate_greedy(*oracle_, sources, {.max_tokens = 70});
  for (size_t row = 0; row < sources.size(); ++row) {
    EXPECT_EQ(found[row].tokens, expected[row].tokens);
    EXPECT_EQ(found[row].ended, expected[row].ended);
    EXPECT_NEAR(found[row].log_probability, expected[row].log_probability,
                1e-4 * (1 - expected[row].log_probability));
  }
}

std::string oracle_case_name(const ::testing::TestParamInfo<CpuEngineOracle::ParamType>& info) {
  return std::get<0>(info.param).name + "_" + std::string(name_of(std::get<1>(info.param)));
}

INSTANTIATE_TEST_SUITE_P(Models, CpuEngineOracle,
                         ::testing::Combine(::testing::ValuesIn(cpu_cases()),
                                            ::testing::Values(CpuPrecision::Fp32,
                                                              CpuPrecision::Bf16,
                                                              CpuPrecision::Int8)),
                         oracle_case_name);
INSTANTIATE_TEST_SUITE_P(Models, CpuEngineFp32Oracle,
                         ::testing::Combine(::testing::ValuesIn(cpu_cases()),
                                            ::testing::Values(CpuPrecision::Fp32)),
                         oracle_case_name);

TEST(ParameterList, IsThatOfTheLibtorchModel) {
  auto cases = cpu_cases();
  for (const std::string& name : preset_names()) cases.push_back({name, find_model_config(name)});
  for (const ModelCase& each : cases) {
    std::vector<ParameterShape> expected;
    for (const auto& [name, tensor] : parameter_shapes(each.config)) {
      expected.push_back({name, tensor.sizes().vec()});
    }
    EXPECT_EQ(list_parameters(each.config), expected) << each.name;
  }
}

class CpuEngineT5 : public ::testing::TestWithParam<std::string> {};

TEST_P(CpuEngineT5, GivesTransformersNumbers) {
  const fs::path golden = fs::path(CONVSEQ_SOURCE_DIR) / "tests/goldens" / ("hf_t5_" + GetParam());
  TempFolder folder;
  save_model_folder(folder / "converted", read_hf_t5(golden));
  const auto engine = load_cpu_engine(folder / "converted");
  const TensorMap t = load_tensors(golden / "expected.safetensors").tensors;
  const auto rows_of = [&](const std::string& name) {
    std::vector<TokenIds> rows;
    for (int64_t row = 0; row < t.at(name).size(0); ++row) {
      const auto* first = t.at(name)[row].const_data_ptr<int64_t>();
      rows.emplace_back(first, first + t.at(name + "_lengths")[row].item<int64_t>());
    }
    return rows;
  };
  const auto sources = rows_of("source"), inputs = rows_of("target");
  const auto log = t.at("logits").to(torch::kFloat64).log_softmax(-1);
  for (size_t row = 0; row < sources.size(); ++row) {
    // The decoder reads the start token first, which is not chosen.
    ASSERT_EQ(inputs[row][0], engine->config().decoder_start_token_id);
    const auto decoding = engine->start(*engine->encode({sources[row]}), std::ssize(inputs[row]));
    for (size_t i = 0; i + 1 < inputs[row].size(); ++i) {
      const int32_t next = inputs[row][i + 1];
      engine->step(*decoding, {.given = {&next, 1}});
      const double expected =
          log[static_cast<int64_t>(row)][static_cast<int64_t>(i)][next].item<double>();
      EXPECT_NEAR(engine->read(*decoding)[0].log_probabilities[0], expected, 2e-5 * (1 - expected));
      if (next == engine->config().eos_token_id) break;
    }
  }
}

TEST_P(CpuEngineT5, WritesGreedilyWhatTheLibtorchModelWrites) {
  const fs::path golden = fs::path(CONVSEQ_SOURCE_DIR) / "tests/goldens" / ("hf_t5_" + GetParam());
  TempFolder folder;
  save_model_folder(folder / "converted", read_hf_t5(golden));
  const auto model = load_model(folder / "converted");
  TorchEngine oracle(*model);
  const auto engine = load_cpu_engine(folder / "converted");
  torch::manual_seed(5);
  const auto sources = random_ids({8, 3, 1, 24, 150});
  const auto found = generate_greedy(*engine, sources, {.max_tokens = 40});
  const auto expected = generate_greedy(oracle, sources, {.max_tokens = 40});
  for (size_t row = 0; row < sources.size(); ++row) {
    EXPECT_EQ(found[row].tokens, expected[row].tokens);
  }
}

INSTANTIATE_TEST_SUITE_P(Versions, CpuEngineT5, ::testing::Values("v1_0", "v1_1"),
                         [](const auto& each) { return each.param; });

}  // namespace
}  // namespace convseq
