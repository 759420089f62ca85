#include "convseq/answer/predict/prediction_stream.h"

#include <gtest/gtest.h>

#include "answer/table_engine.h"
#include "convseq/base/random.h"
#include "temp_folder.h"

namespace convseq {
using testing::TableEngine;
using testing::TempFolder;

class PredictionStreamTest : public ::testing::Test {
 protected:
  PredictionStreamTest() {
    Random random(5);
    std::string bytes;
    for (int i = 0; i < 300; ++i) {
      std::string line;
      for (uint64_t n = random.below(40); n > 0; --n) line += "bridge "[random.below(7)];
      bytes += (i % 50 == 7 ? std::string("\xC3(") : line) + "\n";
    }
    file_ = folder_.file("a.txt", bytes);
  }

  static Task task() {
    Task task;
    task.source = TextTemplate("{text}");
    task.max_source_tokens = 20;
    return task;
  }

  static ModelConfig config() {
    ModelConfig config = TableEngine::small_config();
    config.vocab_size = 1000;
    return config;
  }

  struct Run {
    std::vector<Prediction> predictions;
    std::vector<size_t> windows;
    PredictionTotals totals;
  };
  Run run(const PredictionStreamOptions& options) {
    TextReader reader(file_, {.source = task_.source});
    Run result;
    result.totals =
        predict_rows(reader, encoder_, predictor_, options, [&](const auto& predictions) {
          result.windows.push_back(predictions.size());
          result.predictions.insert(result.predictions.end(), predictions.begin(),
                                    predictions.end());
        });
    return result;
  }

  TempFolder folder_;
  std::filesystem::path file_;
  const Task task_ = task();
  const Tokenizer tokenizer_ = Tokenizer::load(CONVSEQ_SOURCE_DIR "/tests/goldens/run_v0_1");
  TableEngine engine_{config()};
  Predictor predictor_{engine_,
                       {.by = AnswerBy::Head,
                        .decision = LabelDecision(LabelKind::Single, {"a", "b", "c"}),
                        .batches = {.max_rows = 4}}};
  const TaskEncoder encoder_{task_, tokenizer_};
};

TEST_F(PredictionStreamTest, KeepsTheOrderWhateverWindowAndThreads) {
  std::vector<Prediction> alone;
  TextReader reader(file_, {.source = task_.source});
  for (TextRow row; reader.next(row);) alone.push_back(predict_row(row, encoder_, predictor_));
  ASSERT_EQ(alone.size(), 300u);
  for (const int64_t window : {1, 7, 100, 5000}) {
    for (const size_t threads : {1, 4}) {
      const Run found = run({.window = window, .threads = threads});
      ASSERT_EQ(found.predictions.size(), alone.size());
      for (size_t i = 0; i < alone.size(); ++i) {
        EXPECT_EQ(found.predictions[i].row, alone[i].row);
        EXPECT_EQ(found.predictions[i].error, alone[i].error);
        EXPECT_EQ(found.predictions[i].tokens_cut, alone[i].tokens_cut);
        EXPECT_EQ(found.predictions[i].answer.probabilities, alone[i].answer.probabilities);
      }
    }
  }
}

TEST_F(PredictionStreamTest, HoldsAWindowAtATime) {
  const Run found = run({.window = 100, .threads = 2});
  for (size_t rows : found.windows) EXPECT_LT(rows, 200u);
  const Run each = run({.window = 1, .threads = 2});
  EXPECT_EQ(each.windows, std::vector<size_t>(300, 1));
}

TEST_F(PredictionStreamTest, CountsWhatWasCutAndWhatFailed) {
  const PredictionTotals totals = run({}).totals;
  EXPECT_EQ(totals.rows, 300);
  EXPECT_GE(totals.failed, 6);  // and empty lines
  EXPECT_GT(totals.cut, 10);
  const std::string text = totals.describe();
  EXPECT_EQ(text.find(fmt::format("300 rows, {} cut, {} with errors, the first: ", totals.cut,
                                  totals.failed)),
            0u)
      << text;
  EXPECT_NE(text.find(file_.string() + ":"), text.npos) << text;
}

}  // namespace convseq
