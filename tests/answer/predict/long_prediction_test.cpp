// A million lines through a mini model on the CPU engine: `make test-long`.
#include <gtest/gtest.h>

#include <chrono>
#include <fstream>

#include "convseq/answer/predict/prediction_format.h"
#include "convseq/answer/predict/prediction_stream.h"
#include "convseq/base/random.h"
#include "convseq/base/safetensors/safetensors.h"
#include "convseq/runtime/cpu_engine.h"
#include "convseq/spec/model_files.h"
#include "convseq/spec/parameter_list.h"
#include "convseq/spec/presets.h"
#include "temp_folder.h"

namespace convseq {
using testing::TempFolder;

namespace {

constexpr const char* kTokenizer = CONVSEQ_SOURCE_DIR "/tests/goldens/run_v0_1";

// A model folder with random weights.
void write_model(const std::filesystem::path& folder, const ModelConfig& config) {
  std::filesystem::create_directory(folder);
  write_json_file(folder / kConfigFile, config.to_json());
  Random random(1);
  std::map<std::string, std::vector<float>> values;
  std::map<std::string, TensorView> tensors;
  for (const ParameterShape& each : list_parameters(config)) {
    std::vector<float>& numbers = values[each.name];
    for (int64_t i = 0; i < each.count(); ++i) {
      numbers.push_back(static_cast<float>(0.1 * (random.uniform() - 0.5)));
    }
    tensors[each.name] = {TensorType::F32, each.shape, std::as_bytes(std::span(numbers))};
  }
  write_safetensors(folder / kWeightsFile, tensors);
}

int64_t resident_kilobytes() {
  std::ifstream lines("/proc/self/status");
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("VmRSS:")) return std::stoll(line.substr(6));
  }
  return 0;
}

double seconds_of(const std::function<void()>& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

class LongPrediction : public ::testing::Test {
 protected:
  LongPrediction() {
    write_model(folder_ / "model", config());
    engine_ = load_cpu_engine(folder_ / "model", {.precision = CpuPrecision::Int8});
    predictor_.emplace(*engine_,
                       PredictorOptions{.by = AnswerBy::Head,
                                        .decision = LabelDecision(LabelKind::Single, {"a", "b"})});
  }

  static ModelConfig config() {
    return find_model_config("paper-light-mini",
                             {"vocab_size=1000", "classes=2", "labels=[\"a\",\"b\"]"});
  }
  static Task task() {
    Task task;
    task.source = TextTemplate("{text}");
    task.max_source_tokens = 64;
    return task;
  }

  // Lines of 2 words or more.
  std::filesystem::path lines(int64_t count, uint64_t most_words) {
    const std::vector<std::string> words = {"river", "stone", "winter", "people", "slowly", "so"};
    const auto path = folder_ / std::to_string(count);
    std::ofstream file(path);
    Random random(3);
    for (int64_t i = 0; i < count; ++i) {
      for (uint64_t n = 2 + random.below(most_words - 1); n > 0; --n) {
        file << words[random.below(words.size())] << ' ';
      }
      file << '\n';
    }
    return path;
  }

  TempFolder folder_;
  const Task task_ = task();
  const Tokenizer tokenizer_ = Tokenizer::load(kTokenizer);
  const TaskEncoder encoder_{task_, tokenizer_};
  std::unique_ptr<Engine> engine_;
  std::optional<Predictor> predictor_;
};

}  // namespace

TEST_F(LongPrediction, KeepsFourFifthsOfTheEnginesThroughput) {
  const auto path = lines(20'000, 30);
  std::vector<std::vector<PredictorInput>> windows(1);
  TextReader reader(path, {.source = task_.source});
  for (TextRow row; reader.next(row);) {
    if (windows.back().size() == 4096) windows.emplace_back();
    windows.back().push_back({.row = row.number, .source = encoder_.encode_source(row.source).ids});
  }
  const PredictionFormat format({.decision = &*predictor_->decision()});
  double engine = 1e9, whole = 1e9;
  for (int repetition = 0; repetition < 3; ++repetition) {
    engine = std::min(engine, seconds_of([&] {
                        for (const auto& window : windows) predictor_->predict(window);
                      }));
    whole = std::min(whole, seconds_of([&] {
                       TextReader again(path, {.source = task_.source});
                       predict_rows(again, encoder_, *predictor_, {}, [&](const auto& predictions) {
                         for (const Prediction& each : predictions) format.line(each);
                       });
                     }));
  }
  fmt::print("{:.0f} rows/s, the engine alone {:.0f}\n", 20'000 / whole, 20'000 / engine);
  EXPECT_LT(engine / whole, 1.2);
  EXPECT_GT(engine / whole, 0.8);
}

TEST_F(LongPrediction, AMillionLinesTakeNoMoreMemoryThanTheFirst) {
  TextReader reader(lines(1'000'000, 8), {.source = task_.source});
  int64_t rows = 0, early = 0, most = 0;
  const double seconds = seconds_of([&] {
    predict_rows(reader, encoder_, *predictor_, {}, [&](const auto& predictions) {
      rows += std::ssize(predictions);
      const int64_t now = resident_kilobytes();
      if (rows <= 100'000) early = std::max(early, now);
      most = std::max(most, now);
    });
  });
  fmt::print("{:.0f} rows/s, {} KB after 100,000 rows, at most {} KB\n", 1e6 / seconds, early,
             most);
  EXPECT_EQ(rows, 1'000'000);
  EXPECT_LT(most, early + 20'000) << "kilobytes";
}

}  // namespace convseq
