#include "convseq/runtime/cpu_engine.h"

#include <gtest/gtest.h>

#include <cmath>

#include "answer/engine_answers.h"
#include "convseq/base/error.h"
#include "convseq/runtime/thread_pool.h"
#include "model/model_table.h"
#include "runtime/model_folder.h"
#include "temp_folder.h"

namespace convseq {
namespace fs = std::filesystem;
using testing::EngineAnswers;
using testing::message_of;
using testing::model_cases;
using testing::ModelCase;
using testing::random_sources;
using testing::random_weights;
using testing::TempFolder;
using testing::WeightsFile;

namespace {

// The tiny models, with sizes that are no multiple of a vector, and larger ones that have several
// blocks of columns; all with a head.
std::vector<ModelCase> cases() {
  std::vector<ModelCase> all;
  for (ModelCase each : model_cases()) {
    each.config.classes = 3;
    each.config.max_positions = 200;
    all.push_back(each);
    each.name += "_large";
    each.config.d_model = 72;
    each.config.d_ff = 200;
    each.config.conv_heads = 4;
    each.config.kernel_sizes = {{7}};
    all.push_back(each);
  }
  return all;
}

EngineAnswers answers_of(Engine& engine, const std::vector<TokenIds>& sources) {
  return testing::answers_of(engine, sources, {.max_target = 70, .max_tokens = 9});
}

void expect_same_bits(const EngineAnswers& found, size_t at, const EngineAnswers& expected,
                      size_t row) {
  EXPECT_EQ(found.labels[at], expected.labels[row]);
  EXPECT_EQ(found.classes[at], expected.classes[row]);
  EXPECT_EQ(found.nlls[at].nll, expected.nlls[row].nll);
  EXPECT_EQ(found.generations[at].tokens, expected.generations[row].tokens);
  EXPECT_EQ(found.generations[at].log_probability, expected.generations[row].log_probability);
}

class CpuEngineTable : public ::testing::TestWithParam<std::tuple<ModelCase, CpuPrecision>> {
 protected:
  CpuEngineTable() : config_(std::get<0>(GetParam()).config), precision_(std::get<1>(GetParam())) {
    random_weights(config_).write(folder_ / "model", config_);
  }

  std::unique_ptr<Engine> load(int64_t threads = 1) const {
    return load_cpu_engine(folder_ / "model", {.precision = precision_, .threads = threads});
  }

  TempFolder folder_;
  ModelConfig config_;
  CpuPrecision precision_;
};

TEST_P(CpuEngineTable, AnswersAloneWhatItAnswersInABatch) {
  const auto engine = load();
  const auto sources = random_sources({8, 3, 1, 0, 65, 6, 130, 2});
  const EngineAnswers together = answers_of(*engine, sources);
  for (size_t row = 0; row < sources.size(); ++row) {
    SCOPED_TRACE(row);
    expect_same_bits(answers_of(*engine, {sources[row]}), 0, together, row);
  }
}

TEST_P(CpuEngineTable, AnswersTheSameWithAnyNumberOfThreads) {
  // The number of threads decides how the rows are cut into blocks.
  const auto one = load(1), two = load(2), five = load(5);
  for (const auto& lengths : {std::vector<int64_t>{8, 3, 1, 0, 65, 6, 130, 2}, {40}, {17, 9}}) {
    const auto sources = random_sources(lengths);
    const EngineAnswers expected = answers_of(*one, sources);
    for (Engine* engine : {two.get(), five.get()}) {
      const EngineAnswers found = answers_of(*engine, sources);
      for (size_t row = 0; row < sources.size(); ++row) expect_same_bits(found, row, expected, row);
    }
  }
}

TEST_P(CpuEngineTable, StepsWithGivenTokensAddUpToTheScore) {
  const auto engine = load();
  const auto encoded = engine->encode(random_sources({8, 65, 1}));
  TokenIds target(80, 6);
  for (size_t i = 0; i < target.size(); ++i) target[i] = static_cast<int32_t>(2 + i % 17);
  target.push_back(1);
  const auto decoding = engine->start(*encoded, std::ssize(target));
  std::vector<double> sums(3);
  for (const int32_t id : target) {
    engine->step(*decoding, {.given = std::vector(3, id)});
    const auto steps = engine->read(*decoding);
    ASSERT_EQ(steps.size(), 1u);
    EXPECT_EQ(steps[0].ids, TokenIds(3, id));
    for (size_t row = 0; row < 3; ++row) sums[row] += steps[0].log_probabilities[row];
  }
  const auto scores = engine->score(*encoded, {target});
  for (size_t row = 0; row < 3; ++row) {
    EXPECT_NEAR(sums[row], scores[row][0], 1e-5 * (1 - scores[row][0]));
  }
}

TEST_P(CpuEngineTable, EndedRowsEmitPaddingAndRowsCanBeReordered) {
  const auto engine = load(2);
  const auto sources = random_sources({4, 2, 9});
  const auto decoding = engine->start(*engine->encode(sources), 4);
  for (const TokenIds& given : {TokenIds{5, 1, 9}, {6, 7, 8}}) {
    engine->step(*decoding, {.given = given});
  }
  const auto steps = engine->read(*decoding);
  EXPECT_EQ(steps[0].ids, (TokenIds{5, 1, 9}));
  EXPECT_EQ(steps[1].ids, (TokenIds{6, 0, 8}));
  EXPECT_EQ(steps[1].log_probabilities[1], 0);
  const std::vector<int64_t> rows{2, 0, 0, 2};
  engine->reorder(*decoding, rows);
  engine->step(*decoding, {});
  const auto reordered = engine->read(*decoding);
  // The same prefixes alone.
  for (const auto& [source, prefix, row] :
       {std::tuple{sources[2], TokenIds{9, 8}, 0}, {sources[0], TokenIds{5, 6}, 1}}) {
    const auto alone = engine->start(*engine->encode({source}), 3);
    for (const int32_t id : prefix) engine->step(*alone, {.given = {&id, 1}});
    engine->step(*alone, {});
    const ChosenTokens expected = engine->read(*alone).back();
    const auto at = static_cast<size_t>(row);
    for (const size_t same : {at, row == 0 ? size_t{3} : size_t{2}}) {
      EXPECT_EQ(reordered[0].ids[same], expected.ids[0]);
      EXPECT_EQ(reordered[0].log_probabilities[same], expected.log_probabilities[0]);
    }
  }
}

// The mean error of an answer against fp32; rounding adds up over the layers.
TEST_P(CpuEngineTable, IsCloseToFp32) {
  const double bound = precision_ == CpuPrecision::Fp32   ? 0
                       : precision_ == CpuPrecision::Bf16 ? 0.03
                                                          : 0.08;
  const auto sources = random_sources({8, 3, 1, 65, 6, 130, 2});
  const auto found = load(), exact = load_cpu_engine(folder_ / "model", {.threads = 1});
  const std::vector<TokenIds> labels{{2, 1}, {5, 3, 4, 1}, {1}};
  const auto compare = [&](const ClassScores& some, const ClassScores& others) {
    double error = 0, count = 0;
    for (size_t row = 0; row < some.size(); ++row) {
      for (size_t k = 0; k < some[row].size(); ++k, ++count) {
        error += std::abs(some[row][k] - others[row][k]);
      }
    }
    EXPECT_LE(error / count, bound);
  };
  compare(found->classify(*found->encode(sources)), exact->classify(*exact->encode(sources)));
  auto some = found->score(*found->encode(sources), labels);
  auto others = exact->score(*exact->encode(sources), labels);
  for (auto* scores : {&some, &others}) {
    for (auto& row : *scores) {
      for (size_t k = 0; k < row.size(); ++k) row[k] /= static_cast<double>(labels[k].size());
    }
  }
  compare(some, others);
}

INSTANTIATE_TEST_SUITE_P(Models, CpuEngineTable,
                         ::testing::Combine(::testing::ValuesIn(cases()),
                                            ::testing::Values(CpuPrecision::Fp32,
                                                              CpuPrecision::Bf16,
                                                              CpuPrecision::Int8)),
                         [](const auto& each) {
                           return std::get<0>(each.param).name + "_" +
                                  std::string(name_of(std::get<1>(each.param)));
                         });

ModelConfig light() { return model_cases()[3].config; }

TEST(CpuEngine, TakesTheTypeOfTheStoredMatrices) {
  TempFolder folder;
  const auto sources = random_sources({8, 3});
  const std::vector<TokenIds> labels{{2, 1}, {5, 3, 4, 1}};
  for (const auto& [type, precision] : {std::pair{TensorType::F32, CpuPrecision::Fp32},
                                        {TensorType::BF16, CpuPrecision::Bf16},
                                        {TensorType::I8, CpuPrecision::Int8}}) {
    const auto path = folder / std::string(name_of(type));
    random_weights(light(), type).write(path, light());
    const auto stored = load_cpu_engine(path);
    int64_t files = 0;
    for (const auto& each : fs::directory_iterator(path)) {
      const std::string name = each.path().filename().string();
      if (!name.starts_with("packed-")) continue;
      ++files;
      EXPECT_NE(name.find(name_of(precision)), std::string::npos) << name;
    }
    EXPECT_EQ(files, 1);
    const auto given = load_cpu_engine(path, {.precision = precision});
    EXPECT_EQ(stored->score(*stored->encode(sources), labels),
              given->score(*given->encode(sources), labels));
  }
}

TEST(CpuEngine, AnswersTheSameFromTheFileAndFromMemory) {
  TempFolder folder;
  random_weights(light()).write(folder / "model", light());
  const auto sources = random_sources({8, 3});
  const auto score = [&](const CpuEngineOptions& options) {
    const auto engine = load_cpu_engine(folder / "model", options);
    return engine->score(*engine->encode(sources), {{2, 1}, {5, 1}});
  };
  const auto expected = score({.keeps_packed_file = false});
  EXPECT_EQ(std::distance(fs::directory_iterator(folder / "model"), {}), 2);
  for (int round = 0; round < 2; ++round) EXPECT_EQ(score({}), expected);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder / "model"), {}), 3);
  // Other weights under the same name are packed anew.
  random_weights(light(), TensorType::F32, 4).write(folder / "model", light());
  EXPECT_NE(score({}), expected);
}

TEST(CpuEngine, EnginesCanShareAPoolAndAnswerAsWithTheirOwn) {
  TempFolder folder;
  random_weights(light()).write(folder / "model", light());
  const auto sources = random_sources({8, 3, 70});
  const auto score = [&](Engine& engine) {
    return engine.score(*engine.encode(sources), {{2, 1}, {5, 1}});
  };
  const auto pool = std::make_shared<ThreadPool>(3);
  const auto own = load_cpu_engine(folder / "model", {.threads = 1});
  const auto first = load_cpu_engine(folder / "model", {.pool = pool});
  const auto second = load_cpu_engine(folder / "model", {.pool = pool});
  EXPECT_EQ(pool.use_count(), 3);
  EXPECT_EQ(score(*first), score(*own));
  EXPECT_EQ(score(*second), score(*own));
}

// Int8 weights so small that no level gives them a coarser scale (packed_matmul.h).
WeightsFile halved_int8_weights(const ModelConfig& config) {
  WeightsFile file = random_weights(config, TensorType::I8);
  for (auto& [name, tensor] : file.tensors) {
    if (tensor.type != TensorType::I8) continue;
    for (std::byte& each : tensor.bytes) {
      each = static_cast<std::byte>(static_cast<int8_t>(each) / 2);
    }
  }
  return file;
}

TEST(CpuEngine, AnswersTheSameAtEveryCpuLevelWithinRounding) {
  TempFolder folder;
  random_weights(light()).write(folder / "fp32", light());
  halved_int8_weights(light()).write(folder / "int8", light());
  const auto sources = random_sources({8, 3, 70});
  for (const auto precision : {CpuPrecision::Fp32, CpuPrecision::Bf16, CpuPrecision::Int8}) {
    const auto model = folder / (precision == CpuPrecision::Int8 ? "int8" : "fp32");
    ClassScores expected;
    for (const auto level : kernels::cpu_levels()) {
      const auto engine = load_cpu_engine(model, {.precision = precision, .level = level});
      const auto scores = engine->score(*engine->encode(sources), {{2, 1}, {5, 1}});
      if (expected.empty()) expected = scores;
      for (size_t row = 0; row < scores.size(); ++row) {
        for (size_t k = 0; k < 2; ++k) EXPECT_NEAR(scores[row][k], expected[row][k], 0.02);
      }
    }
  }
}

TEST(CpuEngine, RefusesWeightsThatAreNotFinite) {
  for (const bool tied : {true, false}) {
    ModelConfig config = light();
    config.tie_embeddings = tied;
    for (const char* name : {"embedding.weight", "decoder.blocks.1.ffn.down.weight",
                             "encoder.blocks.0.mixer.taps", "decoder.norm.bias"}) {
      TempFolder folder;
      auto weights = random_weights(config);
      const float nan = NAN;
      std::memcpy(weights.tensors.at(name).bytes.data(), &nan, sizeof nan);
      weights.write(folder / "model", config);
      EXPECT_NE(message_of<Error>([&] {
                  load_cpu_engine(folder / "model");
                }).find(std::string(name) + " holds values that are not finite (1 of"),
                std::string::npos)
          << name;
    }
  }
}

TEST(CpuEngine, RefusesWhatItCannotDecode) {
  TempFolder folder;
  ModelConfig config = model_cases()[1].config;
  ASSERT_EQ(config.positions, Positions::Learned);
  random_weights(config).write(folder / "model", config);
  const auto engine = load_cpu_engine(folder / "model");
  EXPECT_NE(message_of<Error>([&] {
              engine->encode(random_sources({21}));
            }).find("sequence of 21 tokens is longer than max_positions 20"),
            std::string::npos);
  EXPECT_NE(message_of<Error>([&] {
              engine->encode({{5, 19}});
            }).find("token 19 is not in the model's vocabulary of 19"),
            std::string::npos);
  const auto decoding = engine->start(*engine->encode(random_sources({3})), 2);
  engine->step(*decoding, {});
  engine->step(*decoding, {});
  EXPECT_NE(message_of<Error>([&] {
              engine->step(*decoding, {});
            }).find("decoding was started for 2 tokens"),
            std::string::npos);
  EXPECT_NE(message_of<Error>([&] { load_cpu_engine(folder / "none"); }).find("no such model"),
            std::string::npos);
}

}  // namespace
}  // namespace convseq
