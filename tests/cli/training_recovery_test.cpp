// How runs end, and go on: limits, signals, damaged checkpoints, a full disk.
#include <algorithm>
#include <csignal>

#include "child_process.h"
#include "training_commands.h"

namespace convseq {
namespace fs = std::filesystem;
using testing::ChildProcess;
using testing::CommandFlags;
using testing::commands;
using testing::expect_success;
using testing::Outcome;
using testing::TempFolder;

namespace {

Outcome run(const std::string& arguments) {
  return testing::run_shell(testing::program_line(arguments));
}

// A report as JSON is one line, after whatever went to standard error.
Json report_of(const std::string& arguments) {
  const Outcome outcome = run(arguments + " --json");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.output;
  const size_t newline = outcome.output.rfind('\n', outcome.output.size() - 2);
  return parse_json(outcome.output.substr(newline == std::string::npos ? 0 : newline + 1),
                    "the report");
}

std::string weights_of(const fs::path& out) { return read_text_file(out / "model.safetensors"); }

size_t lines_of_metrics(const fs::path& out) {
  if (!fs::exists(out / "metrics.jsonl")) return 0;
  const std::string text = read_text_file(out / "metrics.jsonl");
  return static_cast<size_t>(std::count(text.begin(), text.end(), '\n'));
}

std::vector<std::string> checkpoints_in(const fs::path& out) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(out)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with("checkpoint-")) names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

// With 8 and 12 as its checkpoints; made once.
const fs::path& whole_run() {
  static const fs::path folder = [] {
    const std::string out = commands().path("whole");
    expect_success(commands().pretrain(out));
    return out;
  }();
  return folder;
}

fs::path copy_of_whole_run(const TempFolder& folder, const std::string& name) {
  fs::copy(whole_run(), folder / name, fs::copy_options::recursive);
  return folder / name;
}

void write_over(const fs::path& path, const std::string& content) {
  std::ofstream(path, std::ios::binary) << content;
}

}  // namespace

TEST(TrainingEnds, ByTheLimitThatComesFirst) {
  TempFolder folder;
  const std::string corpus = commands().path("corpus");
  struct Case {
    std::string ended_by;
    CommandFlags flags;
    int64_t step;  // 0: the clock decides
  };
  const std::vector<Case> table = {
      {"steps", {{"--tokens", "100000"}}, 12},
      {"tokens", {{"--steps", ""}, {"--tokens", "1000"}}, 8},  // 128 a step
      {"tokens", {{"--tokens", "1024"}}, 8},
      {"minutes", {{"--steps", ""}, {"--minutes", "0.005"}}, 0},
      // A rate that moves nothing: no validation after the first is better.
      {"patience",
       {{"--lr", "1e-30"},
        {"--validation", corpus},
        {"--validate-every", "2"},
        {"--patience", "2"}},
       6},
  };
  for (size_t i = 0; i < table.size(); ++i) {
    const fs::path out = folder / std::to_string(i);
    const Json report = report_of(commands().pretrain(out.string(), table[i].flags));
    EXPECT_EQ(report["ended_by"], table[i].ended_by);
    EXPECT_EQ(report["finished"], true);
    if (table[i].step > 0) EXPECT_EQ(report["step"], table[i].step) << table[i].ended_by;
    EXPECT_TRUE(fs::exists(out / "model.safetensors"));
    EXPECT_EQ(checkpoints_in(out).back(),
              fmt::format("checkpoint-{:08}", report["step"].get<int64_t>()));
    // Finished is finished: given again, the command changes nothing and says the same.
    const Json again = report_of(commands().pretrain(out.string(), table[i].flags));
    EXPECT_EQ(testing::without_pace(again), testing::without_pace(report));
  }
}

TEST(TrainingEnds, WithAValidationWhereNoneCameBefore) {
  TempFolder folder;
  const fs::path out = folder / "out";
  expect_success(commands().pretrain(
      out.string(), {{"--validation", commands().path("corpus")}, {"--validate-every", "0"}}));
  const auto metrics = testing::read_json_lines(out / "metrics.jsonl");
  ASSERT_EQ(metrics.size(), 13u);
  EXPECT_TRUE(metrics.back().contains("validation_nll"));
  EXPECT_TRUE(fs::exists(out / "best" / "model.safetensors"));
}

TEST(Signals, EndWithACheckpointFromWhichTheSameCommandGoesOn) {
  TempFolder folder;
  const auto command = [&](const std::string& out) {
    return commands().pretrain((folder / out).string(),
                               {{"--steps", "40"}, {"--save-every", "1000"}});
  };
  expect_success(command("whole"));
  for (const int signal : {SIGINT, SIGTERM}) {
    const std::string name = std::to_string(signal);
    const fs::path out = folder / name;
    ChildProcess process(testing::program_line(command(name)), folder / "output");
    ASSERT_TRUE(process.wait_until([&] { return lines_of_metrics(out) >= 3; }));
    process.signal(signal);
    process.wait();
    const std::string output = read_text_file(folder / "output");
    EXPECT_EQ(process.exit_code(), 0) << output;
    EXPECT_NE(output.find("stopped after"), output.npos) << output;
    EXPECT_NE(output.find("the same command goes on"), output.npos) << output;
    EXPECT_FALSE(fs::exists(out / "model.safetensors"));
    ASSERT_EQ(checkpoints_in(out).size(), 1u);
    EXPECT_EQ(checkpoints_in(out).front(), fmt::format("checkpoint-{:08}", lines_of_metrics(out)));
    expect_success(command(name));
    EXPECT_TRUE(weights_of(out) == weights_of(folder / "whole")) << name;
  }
}

TEST(Signals, ASecondOneEndsAtOnce) {
  TempFolder folder;
  // A step of many seconds.
  ChildProcess process(
      testing::program_line(commands().pretrain(
          (folder / "out").string(),
          {{"--batch", "4096"}, {"--micro-batch", "4"}, {"--source", "256"}, {"--target", "64"}})),
      folder / "output");
  ASSERT_TRUE(process.wait_until([&] { return fs::exists(folder / "out" / "metrics.jsonl"); }));
  const auto pause = [] { std::this_thread::sleep_for(std::chrono::milliseconds(300)); };
  pause();
  process.signal(SIGTERM);
  pause();
  EXPECT_TRUE(process.running());
  const auto start = std::chrono::steady_clock::now();
  process.signal(SIGTERM);
  process.wait();
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(1));
  EXPECT_EQ(process.exit_code(), 1);
  EXPECT_TRUE(checkpoints_in(folder / "out").empty());
}

TEST(DamagedCheckpoint, IsReportedAndTheOneBeforeItTaken) {
  const auto change_a_digit = [](std::string content) {
    content[content.find_last_of("0123456789")] ^= 1;
    return content;
  };
  const auto cut = [](std::string content) { return content.substr(0, content.size() / 2); };
  const auto empty = [](const std::string&) { return std::string(); };
  using Damage = std::function<std::string(std::string)>;
  const std::map<std::string, Damage> damages = {
      {"digit", change_a_digit}, {"cut", cut}, {"empty", empty}};
  TempFolder folder;
  for (const char* file :
       {"model.safetensors", "optimizer.safetensors", "trainer_state.json", "config.json"}) {
    for (const auto& [name, damage] : damages) {
      const fs::path out = copy_of_whole_run(folder, fmt::format("{}-{}", file, name));
      const fs::path damaged = out / "checkpoint-00000012" / file;
      write_over(damaged, damage(read_text_file(damaged)));
      fs::remove(out / "model.safetensors");
      const Outcome outcome = run(commands().pretrain(out.string()));
      EXPECT_EQ(outcome.exit_code, 0) << outcome.output;
      for (const std::string& said :
           {"damaged checkpoint, taking the one before it: " + out.string(), std::string(file),
            std::string("going on from step 8")}) {
        EXPECT_NE(outcome.output.find(said), std::string::npos) << said << "\n" << outcome.output;
      }
      EXPECT_TRUE(weights_of(out) == weights_of(whole_run())) << out;
    }
  }
  const fs::path out = copy_of_whole_run(folder, "missing");
  fs::remove(out / "checkpoint-00000012" / "optimizer.safetensors");
  expect_success(commands().pretrain(out.string()));
  EXPECT_TRUE(weights_of(out) == weights_of(whole_run()));
}

TEST(DamagedCheckpoint, DoesNotPushOutAGoodOne) {
  TempFolder folder;
  const fs::path out = copy_of_whole_run(folder, "out");
  write_over(out / "checkpoint-00000012" / "model.safetensors", "");
  expect_success(commands().pretrain(out.string(), {{"--steps", "10"}, {"--keep", "1"}}));
  EXPECT_EQ(checkpoints_in(out), std::vector<std::string>{"checkpoint-00000010"});
}

TEST(DamagedCheckpoint, IsNoReasonToBeginAnewUnasked) {
  TempFolder folder;
  const fs::path out = copy_of_whole_run(folder, "out");
  for (const char* each : {"checkpoint-00000008", "checkpoint-00000012"})
    write_over(out / each / "trainer_state.json", "{}");
  const Outcome refused = run(commands().pretrain(out.string()));
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_NE(refused.output.find("convseq: " + out.string() +
                                ": none of its 2 checkpoints is whole; --fresh begins anew\n"),
            std::string::npos)
      << refused.output;
  expect_success(commands().pretrain(out.string(), {{"--fresh", " "}}));
  EXPECT_TRUE(weights_of(out) == weights_of(whole_run()));
}

namespace {

// No file may grow beyond 100 kB, as on a disk that is full.
Outcome run_on_full_disk(const std::string& arguments) {
  return testing::run_shell("trap '' XFSZ; ulimit -f 200; " + testing::program_line(arguments));
}

}  // namespace

TEST(FullDisk, LeavesTheLastGoodCheckpointAndSaysSo) {
  TempFolder folder;
  const auto command = [&](const std::string& out, CommandFlags flags) {
    flags["--schedule"] = "constant";  // steps 1 to 12 are then the same for a run of 20
    return commands().pretrain((folder / out).string(), flags);
  };
  expect_success(command("whole", {{"--steps", "20"}}));
  expect_success(command("half", {{"--steps", "12"}}));
  struct Case {
    std::string unwritten;
    CommandFlags flags;
  };
  const std::vector<Case> table = {
      {"checkpoint-00000016", {{"--steps", "20"}}},
      {"best",  // of a validation at step 13
       {{"--steps", "20"},
        {"--validate-every", "13"},
        {"--validation", commands().path("corpus")}}},
  };
  for (const Case& each : table) {
    const fs::path out = folder / each.unwritten;
    fs::copy(folder / "half", out, fs::copy_options::recursive);
    const Outcome full = run_on_full_disk(command(each.unwritten, each.flags));
    EXPECT_EQ(full.exit_code, 2);
    for (const std::string& said :
         {"convseq: " + (out / each.unwritten).string(),
          std::string(": cannot write: File too large"),
          "; the last good checkpoint is " + (out / "checkpoint-00000012").string() + "\n"}) {
      EXPECT_NE(full.output.find(said), std::string::npos) << said << "\n" << full.output;
    }
    EXPECT_EQ(checkpoints_in(out),
              (std::vector<std::string>{"checkpoint-00000008", "checkpoint-00000012"}));
    expect_success(command(each.unwritten, each.flags));
    EXPECT_TRUE(weights_of(out) == weights_of(folder / "whole")) << out;
  }
}

TEST(FullDisk, IsNamedByTheLogToo) {
  TempFolder folder;
  fs::create_directory(folder / "out");
  fs::create_symlink("/dev/full", folder / "out" / "metrics.jsonl");
  const Outcome outcome = run(commands().pretrain((folder / "out").string()));
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_NE(outcome.output.find(
                "/metrics.jsonl: cannot write: No space left on device; there is no earlier "),
            std::string::npos)
      << outcome.output;
}

TEST(TrainedModel, AnswersWithPredictionsAndScoresThatAreJson) {
  TempFolder folder;
  for (const char* form : {"text", "pooled"}) {
    const fs::path out = folder / form, answers = folder / "answers.jsonl";
    expect_success(commands().finetune(out.string(), {{"--answer", form}}));
    for (const Json& line : testing::read_json_lines(out / "metrics.jsonl")) {
      EXPECT_TRUE(line["step"].is_number_integer()) << line;
      EXPECT_TRUE(line.contains("loss") || line.contains("validation_accuracy")) << line;
    }
    const Json report =
        report_of(fmt::format("evaluate {} {} --split validation --quiet --predictions {}",
                              out.string(), commands().task("pair_1"), answers.string()));
    const Json& score = report["scores"][0];
    EXPECT_EQ(score["metric"], "accuracy");
    EXPECT_EQ(score["count"], 24);
    EXPECT_LE(score["low"], score["value"]);
    EXPECT_GE(score["high"], score["value"]);
    EXPECT_LT(score["low"], score["high"]);
    // The same answers and scores as at the end of training.
    EXPECT_EQ(read_json_file(out / "evaluation.json")["evaluation"]["validation"]["scores"],
              report["scores"]);
    EXPECT_EQ(testing::read_json_lines(answers).size(), 24u);
    EXPECT_EQ(read_text_file(out / "predictions-validation.jsonl"), read_text_file(answers));
    EXPECT_EQ(testing::read_json_lines(out / "predictions-test.jsonl").size(), 24u);
  }
}

TEST(TrainedModel, HasItsTokenizerWhateverItsFileIsCalled) {
  TempFolder folder;
  const fs::path file = folder / "my.model", out = folder / "out";
  fs::copy(commands().path("tokenizer/spiece.model"), file);
  expect_success(commands().pretrain(out.string(), {{"--tokenizer", file.string()}}));
  expect_success(commands().finetune((folder / "next").string(), {{"--from", out.string()}}));
}

}  // namespace convseq
