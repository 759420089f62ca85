#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "child_process.h"
#include "cli/model_for_prediction.h"
#include "convseq/base/file/json_file.h"
#include "program.h"
#include "temp_folder.h"

namespace convseq {
namespace fs = std::filesystem;
using testing::ChildProcess;
using testing::run_convseq;
using testing::TempFolder;

namespace {

// A command in a folder of its own, beside its output.
class Signals : public ::testing::Test {
 protected:
  std::string in(const std::string& name) const { return (work.path() / name).string(); }
  std::string output() const {
    return fs::exists(log / "output") ? read_text_file(log / "output") : "";
  }

  // Runs a command until `happened`, signals it `times` times, and waits for its end.
  int stopped(const std::string& arguments, const std::function<bool()>& happened, int which,
              int times = 1) const {
    ChildProcess child(std::string(CONVSEQ_PROGRAM) + " " + arguments, log / "output");
    EXPECT_TRUE(child.wait_until(happened)) << output();
    for (int i = 0; i < times; ++i) {
      if (i > 0) std::this_thread::sleep_for(std::chrono::milliseconds(100));
      child.signal(which);
    }
    child.wait();
    return child.exit_code();
  }

  bool has_temporary() const {
    for (const auto& entry : fs::directory_iterator(work.path())) {
      if (entry.path().filename().string().find(".convseq-tmp-") != std::string::npos) return true;
    }
    return false;
  }

  void write_corpus(const std::string& name, int lines) const {
    std::string text;
    for (int i = 0; i < lines; ++i) {
      text += fmt::format("River {} runs to sea {} and under bridge {} of stone.\n", i, i * 7919,
                          i * 104729);
    }
    work.file(name, text);
  }

  TempFolder work, log;
};

TEST_F(Signals, EndASyntheticCorpusAndLeaveNothing) {
  for (const int which : {SIGINT, SIGTERM}) {
    EXPECT_EQ(stopped(
                  "synth corpus " + in("out") + " --documents 100000000",
                  [&] { return has_temporary(); }, which),
              130);
    EXPECT_NE(output().find("convseq: " + in("out") + ": stopped; nothing was written\n"),
              std::string::npos)
        << output();
    EXPECT_TRUE(fs::is_empty(work.path()));
  }
}

TEST_F(Signals, EndSyntheticTasksAndLeaveNothing) {
  EXPECT_EQ(stopped(
                "synth tasks " + in("out") +
                    " --family pair --comparisons 8 --train 3000000 "
                    "--max-memory 900G",
                [&] { return has_temporary(); }, SIGINT),
            130);
  EXPECT_EQ(output(), "convseq: " + in("out") + ": stopped; nothing was written\n");
  EXPECT_TRUE(fs::is_empty(work.path()));
}

TEST_F(Signals, EndTokenizingSoThatTheSameCommandGoesOn) {
  write_corpus("small.txt", 200);
  write_corpus("corpus.txt", 300'000);
  ASSERT_EQ(run_convseq(fmt::format("tokenizer train {} --out {} --model bpe --vocabulary 300",
                                    in("small.txt"), in("tok")))
                .exit_code,
            0);
  const std::string command =
      fmt::format("tokenize {} {} --tokenizer {} --shard-tokens 20000 --threads 1 --quiet",
                  in("corpus.txt"), in("shards"), in("tok"));
  const auto begun = [&] { return fs::exists(work.path() / "shards" / "manifest.json"); };
  EXPECT_EQ(stopped(command, begun, SIGINT), 130);
  EXPECT_NE(output().find("convseq: " + in("shards") +
                          ": stopped; run the same command again to resume\n"),
            std::string::npos)
      << output();
  const auto whole = run_convseq(command);
  EXPECT_EQ(whole.exit_code, 0) << whole.output;
  EXPECT_NE(whole.output.find(", 300000 documents, "), std::string::npos) << whole.output;
}

TEST_F(Signals, EndAPredictionThatWaitsForInput) {
  const fs::path model = testing::model_for_prediction(work);
  ASSERT_EQ(::mkfifo(in("fifo").c_str(), 0600), 0);
  const int open_end = ::open(in("fifo").c_str(), O_RDWR);  // the input never ends
  const auto waits = [&] {
    for (const auto& entry : fs::directory_iterator(model)) {
      if (entry.path().extension() == ".bin") return true;  // the packed weights
    }
    return false;
  };
  const auto command = fmt::format("predict {} - --out {} --quiet < {}", model.string(),
                                   in("out.jsonl"), in("fifo"));
  EXPECT_EQ(stopped(command, waits, SIGTERM), 130);
  EXPECT_EQ(output(), "convseq: predict: stopped; nothing was written\n");
  EXPECT_FALSE(fs::exists(in("out.jsonl")));
  EXPECT_FALSE(has_temporary());
  ::close(open_end);
}

TEST_F(Signals, EndAFinetuningThatReadsItsData) {
  const fs::path model = testing::model_for_prediction(work);
  work.file("task.json", R"({"name": "claims", "files": {"train": "train.jsonl"},
      "source": "claim: {text}", "target": "{label}", "labels": ["yes", "no"],
      "metrics": ["accuracy"], "max_source_tokens": 90, "max_target_tokens": 5})");
  ASSERT_EQ(::mkfifo(in("train.jsonl").c_str(), 0600), 0);
  int open_end = -1;
  const auto reads = [&] {  // a pipe without a reader cannot be opened
    open_end = ::open(in("train.jsonl").c_str(), O_WRONLY | O_NONBLOCK);
    return open_end >= 0;
  };
  const auto command =
      fmt::format("finetune --from {} --task {} --data {} --out {} --quiet", model.string(),
                  in("task.json"), work.path().string(), in("run"));
  EXPECT_EQ(stopped(command, reads, SIGTERM), 130);
  EXPECT_EQ(output(), "convseq: " + in("run") + ": stopped while it read the data\n");
  ::close(open_end);
}

TEST_F(Signals, EndAnEvaluationThatReadsItsData) {
  const fs::path model = testing::model_for_prediction(work);
  const fs::path fifo = in("test.jsonl");
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  const std::vector<std::pair<std::string, std::string>> commands = {
      {fmt::format("evaluate {} --test {} --quiet", model.string(), fifo.string()), "evaluate"},
      {fmt::format("quantize {} {} --int8 --test {} --quiet", model.string(), in("int8"),
                   fifo.string()),
       "quantize"}};
  for (const auto& [command, name] : commands) {
    int open_end = -1;
    const auto reads = [&] {  // a pipe without a reader cannot be opened
      open_end = ::open(fifo.c_str(), O_WRONLY | O_NONBLOCK);
      return open_end >= 0;
    };
    EXPECT_EQ(stopped(command, reads, SIGINT), 130);
    EXPECT_EQ(output(), "convseq: " + name + ": stopped; nothing was written\n");
    ::close(open_end);
  }
  EXPECT_FALSE(fs::exists(in("int8")));
}

TEST_F(Signals, AreNotNeededWhereTheDiskIsFullAndTheInputWaits) {
  const fs::path model = testing::model_for_prediction(work);
  ASSERT_EQ(::mkfifo(in("fifo").c_str(), 0600), 0);
  const int open_end = ::open(in("fifo").c_str(), O_RDWR);
  ASSERT_EQ(::write(open_end, "a text\n", 7), 7);
  ChildProcess child(fmt::format("sh -c '{} predict {} - --window 1 --quiet < {} > /dev/full'",
                                 CONVSEQ_PROGRAM, model.string(), in("fifo")),
                     log / "output");
  EXPECT_FALSE(child.wait_until([] { return false; }));
  EXPECT_FALSE(child.running());
  EXPECT_EQ(child.exit_code(), 1);
  EXPECT_NE(output().find("No space left on device"), std::string::npos) << output();
  ::close(open_end);
}

TEST_F(Signals, EndTheTrainingOfATokenizerAtOnce) {
  write_corpus("corpus.txt", 60'000);
  EXPECT_EQ(
      stopped(
          fmt::format("tokenizer train {} --out {} --vocabulary 2000", in("corpus.txt"), in("tok")),
          [&] { return output().find("training on") != std::string::npos; }, SIGINT),
      130);
  EXPECT_TRUE(output().ends_with("convseq: stopped\n")) << output();
  EXPECT_FALSE(fs::exists(work.path() / "tok"));
  EXPECT_FALSE(has_temporary());
}

TEST_F(Signals, EndAtOnceTheSecondTime) {
  const std::string command =
      "bench length --device cpu --quiet --models paper-light-tiny --lengths 64 --tokens 64 "
      "--rounds 1000000 --json " +
      in("rows.json");
  EXPECT_EQ(stopped(
                command, [&] { return has_temporary(); }, SIGINT, 2),
            130);
  EXPECT_EQ(output(), "convseq: stopped\n");
}

}  // namespace
}  // namespace convseq
