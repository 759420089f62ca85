#include "convseq/answer/predict/prediction_stream.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>
#include <future>
#include <set>
#include <thread>

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
    return run(reader, options, [] {});
  }
  Run run(TextReader& reader, const PredictionStreamOptions& options,
          const std::function<void()>& after_window) {
    Run result;
    result.totals =
        predict_rows(reader, encoder_, predictor_, options, [&](const auto& predictions) {
          result.windows.push_back(predictions.size());
          result.predictions.insert(result.predictions.end(), predictions.begin(),
                                    predictions.end());
          after_window();
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
  const std::vector<Prediction> alone = run({.window = 1, .threads = 1}).predictions;
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

TEST_F(PredictionStreamTest, AnswersWhatAPipeHasGivenBeforeItPauses) {
  struct Case {
    const char *before, *after;  // the pause
    std::vector<size_t> windows;
    TableForm form = TableForm::Lines;
    RowShard shard = {};
  };
  const std::vector<Case> cases = {
      {"one\ntwo\nthree\nhal", "f\nlast\n", {3, 2}},
      {"one\n\xFF\n", "two\n", {2, 1}},  // the error is an answer too
      {"one\n\n", "two\n", {2, 1}},      // so is that of an empty line
      {"{\"text\": \"one\"}\n\n", "{\"text\": \"two\"}\n", {1, 1}, TableForm::JsonLines},
      {"text\none\n\n", "two\n", {1, 1}, TableForm::Csv},
      {"one\ntwo\nthree\n", "four\nfive\n", {1, 1}, TableForm::Lines, {.index = 2, .count = 3}},
  };
  for (const Case& each : cases) {
    SCOPED_TRACE(each.before);
    TempFolder folder;
    const std::filesystem::path pipe = folder / "pipe";
    ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
    std::promise<void> answered;
    std::atomic<bool> in_time = false;
    std::thread writer([&] {
      std::ofstream out(pipe);
      out << each.before << std::flush;
      const auto status = answered.get_future().wait_for(std::chrono::minutes(1));
      in_time = status == std::future_status::ready;
      out << each.after;
    });
    TextReader reader(pipe, {.source = task_.source, .form = each.form});
    const Run found = run(reader, {.shard = each.shard, .window = 100, .threads = 2},
                          [&, first = true]() mutable {
                            if (std::exchange(first, false)) answered.set_value();
                          });
    writer.join();
    EXPECT_TRUE(in_time);
    EXPECT_EQ(found.windows, each.windows);
  }
}

TEST_F(PredictionStreamTest, ShardsMakeUpTheWhole) {
  for (const int64_t count : {1, 3, 512}) {
    std::set<int64_t> rows;
    for (int64_t index = 1; index <= count; ++index) {
      for (const Prediction& each : run({.shard = {.index = index, .count = count}}).predictions) {
        EXPECT_TRUE(rows.insert(each.row).second);
      }
    }
    EXPECT_EQ(rows.size(), 300u);
    EXPECT_EQ(*rows.rbegin(), 300);
  }
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
