#include "convseq/infer/torch_engine.h"

#include <chrono>
#include <numeric>

#include "answer/engine_answers.h"
#include "convseq/infer/batch_shape.h"
#include "convseq/spec/presets.h"
#include "infer/infer_table.h"

namespace convseq {
using testing::EngineAnswers;
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

EngineAnswers answers_of(Engine& engine, const std::vector<TokenIds>& sources) {
  return testing::answers_of(engine, sources, {.max_target = 5, .max_tokens = 20});
}

void expect_near(const ClassScores& found, const ClassScores& expected, double tolerance) {
  ASSERT_EQ(found.size(), expected.size());
  for (size_t row = 0; row < found.size(); ++row) {
    ASSERT_EQ(found[row].size(), expected[row].size());
    for (size_t k = 0; k < found[row].size(); ++k) {
      EXPECT_NEAR(found[row][k], expected[row][k], tolerance);
    }
  }
}

void expect_near(const EngineAnswers& found, const EngineAnswers& expected, double tolerance) {
  expect_near(found.labels, expected.labels, tolerance);
  expect_near(found.classes, expected.classes, tolerance);
  ASSERT_EQ(found.nlls.size(), expected.nlls.size());
  ASSERT_EQ(found.generations.size(), expected.generations.size());
  for (size_t row = 0; row < found.nlls.size(); ++row) {
    EXPECT_NEAR(found.nlls[row].nll, expected.nlls[row].nll, tolerance);
    EXPECT_EQ(found.nlls[row].tokens, expected.nlls[row].tokens);
    EXPECT_EQ(found.nlls[row].right, expected.nlls[row].right);
    EXPECT_EQ(found.generations[row].tokens, expected.generations[row].tokens);
    EXPECT_EQ(found.generations[row].ended, expected.generations[row].ended);
    EXPECT_NEAR(found.generations[row].log_probability, expected.generations[row].log_probability,
                std::max(tolerance, tolerance > 0 ? 1e-5 : 0));  // it is in fp32
  }
}

TEST(TorchEngine, AnswersTheSameInPaddedShapes) {
  torch::manual_seed(5);
  for (const auto& each : model_cases()) {
    ModelConfig config = each.config;
    config.classes = 3;
    const auto model = make_model(config, torch::kFloat64);
    TorchEngine exact(*model), padded(*model, {.label_rows = 7, .pads_shapes = true});
    const auto sources = random_ids({8, 3, 1, 0, 6, 17, 19});
    SCOPED_TRACE(each.name);
    expect_near(answers_of(padded, sources), answers_of(exact, sources), 1e-9);
  }
}

TEST(BatchShape, AddsAtMostAQuarterToAWideBatch) {
  ModelConfig config;
  for (int64_t width = 1; width < 3000; ++width) {
    const int64_t padded = padded_width(config, width);
    EXPECT_GE(padded, width);
    EXPECT_LT(padded - width, std::max<int64_t>(16, width / 4 + 1));
    EXPECT_EQ(padded_width(config, padded), padded);
  }
  config.positions = Positions::Learned;
  config.max_positions = 100;
  EXPECT_EQ(padded_width(config, 97), 100);
  EXPECT_EQ(padded_width(config, 101), 101);  // which the model refuses
  EXPECT_EQ(padded_rows(5), 8);
  EXPECT_EQ(padded_rows(64), 64);
}

// Models with the sizes that the CUDA kernels have, and the tiny ones.
std::vector<testing::ModelCase> gpu_cases() {
  auto cases = model_cases();
  for (const auto& each : model_cases()) {
    cases.push_back({each.name + "_64", each.config});
    ModelConfig& config = cases.back().config;
    config.d_model = 128;
    config.d_ff = 256;
    config.heads = 2;
    config.d_kv = 64;
    config.conv_heads = 2;
    config.max_positions = 32;
  }
  for (auto& each : cases) each.config.classes = 3;
  return cases;
}

TEST(GpuTorchEngine, ReplaysWhatItWouldLaunch) {
  ASSERT_TRUE(torch::cuda::is_available()) << "this test needs a GPU";
  torch::manual_seed(5);
  for (const auto& each : gpu_cases()) {
    for (auto dtype : {torch::kFloat32, torch::kBFloat16}) {
      SCOPED_TRACE(each.name + (dtype == torch::kFloat32 ? " fp32" : " bf16"));
      const auto model = make_model(each.config, dtype);
      model->to(torch::kCUDA);
      TorchEngine captured(*model), launched(*model, {.graphs = false});
      for (int round = 0; round < 4; ++round) {  // launched, captured, replayed twice
        const auto sources = random_ids({8, 3, 1, 12, 6 + round});
        expect_near(answers_of(captured, sources), answers_of(launched, sources), 0);
      }
      EXPECT_EQ(captured.captured_graphs(), 4);  // encode, score, classify, token_nll
    }
  }
}

TEST(GpuTorchEngine, ReplaysGenerationWithAnInt8Cache) {
  ASSERT_TRUE(torch::cuda::is_available()) << "this test needs a GPU";
  torch::manual_seed(5);
  for (const auto& each : gpu_cases()) {
    SCOPED_TRACE(each.name);
    const auto model = make_model(each.config, torch::kBFloat16);
    model->to(torch::kCUDA);
    TorchEngine captured(*model, {.cache = KvCacheType::Int8});
    TorchEngine launched(*model, {.graphs = false, .cache = KvCacheType::Int8});
    for (int round = 0; round < 3; ++round) {
      const auto sources = random_ids({8, 3, 1, 12, 6 + round});
      const auto found = generate_greedy(captured, sources, {.max_tokens = 20});
      const auto expected = generate_greedy(launched, sources, {.max_tokens = 20});
      ASSERT_EQ(found.size(), expected.size());
      for (size_t i = 0; i < found.size(); ++i) EXPECT_EQ(found[i].tokens, expected[i].tokens);
    }
  }
}

TEST(GpuTorchEngine, SeesWeightsThatChange) {
  ASSERT_TRUE(torch::cuda::is_available()) << "this test needs a GPU";
  torch::manual_seed(5);
  for (const auto& each : gpu_cases()) {
    SCOPED_TRACE(each.name);
    const auto model = make_model(each.config);
    model->to(torch::kCUDA);
    TorchEngine engine(*model);
    const auto sources = random_ids({8, 3, 1, 12});
    for (int round = 0; round < 3; ++round) answers_of(engine, sources);
    const int64_t graphs = engine.captured_graphs();
    {
      const torch::NoGradGuard no_grad;
      for (auto& weight : model->parameters()) weight.mul_(0.75);
    }
    TorchEngine launched(*model, {.graphs = false});
    expect_near(answers_of(engine, sources), answers_of(launched, sources), 0);
    EXPECT_EQ(engine.captured_graphs(), graphs);
    model->to(torch::kBFloat16);  // to other addresses
    for (int round = 0; round < 3; ++round) {
      expect_near(answers_of(engine, sources), answers_of(launched, sources), 0);
    }
  }
}

// The mean time per batch in milliseconds of `work`, once it is captured.
double milliseconds(const std::function<void()>& work) {
  for (int i = 0; i < 4; ++i) work();
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < 20; ++i) work();
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start)
             .count() /
         20;
}

TEST(GpuTorchEngine, IsFasterCapturedThanLaunched) {
  ASSERT_TRUE(torch::cuda::is_available()) << "this test needs a GPU";
  for (const char* name : {"paper-light-small", "paper-transformer-small"}) {
    ModelConfig config = find_model_config(name);
    config.classes = 2;
    const auto model = make_model(config, torch::kBFloat16);
    model->to(torch::kCUDA);
    const auto sources = random_ids(std::vector<int64_t>(64, 30));
    const std::vector<TokenIds> labels{{2, 3, 1}, {4, 1}}, targets(64, {2, 3, 1});
    std::vector<double> sums;
    for (const bool graphs : {false, true}) {
      TorchEngine engine(*model, {.graphs = graphs});
      const std::vector<double> times{
          milliseconds([&] { engine.score(*engine.encode(sources), labels); }),
          milliseconds([&] { engine.classify(*engine.encode(sources)); }),
          milliseconds([&] { engine.token_nll(*engine.encode(sources), targets); }),
          milliseconds([&] { generate_greedy(engine, sources, {.max_tokens = 48}); })};
      fmt::print(
          "{} {}: label scores {:.2f} ms, head {:.2f} ms, NLL {:.2f} ms, 48 tokens {:.2f} ms\n",
          name, graphs ? "captured" : "launched", times[0], times[1], times[2], times[3]);
      sums.push_back(std::accumulate(times.begin(), times.end(), 0.0));
    }
    EXPECT_LT(sums[1], sums[0]) << name;
  }
}

}  // namespace
}  // namespace convseq
