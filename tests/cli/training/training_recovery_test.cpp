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
using testing::report_of;
using testing::run_command;
using testing::TempFolder;

namespace {

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
    if (table[i].step > 0) {
      EXPECT_EQ(report["step"], table[i].step) << table[i].ended_by;
    }
    EXPECT_TRUE(fs::exists(out / "model.safetensors"));
    EXPECT_EQ(checkpoints_in(out).back(),
              fmt::format("checkpoint-{:08}", report["step"].get<int64_t>()));
    // Finished is finished: given again, the command changes nothing and says the same.
    const Json again = report_of(commands().pretrain(out.string(), table[i].flags));
    EXPECT_EQ(testing::without_pace(again), testing::without_pace(report));
  }
  const Outcome text = run_command(commands().pretrain((folder / "0").string(), table[0].flags));
  EXPECT_NE(text.output.find("; no steps were left to do"), std::string::npos) << text.output;
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
    EXPECT_EQ(process.exit_code(), 130) << output;
    EXPECT_NE(output.find("stopped after"), output.npos) << output;
    EXPECT_NE(output.find(fmt::format(
                  "convseq: {}: stopped; run the same command again to resume\n", out.string())),
              output.npos)
        << output;
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
  EXPECT_EQ(process.exit_code(), 130);
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
  for (const char* file : {"model.safetensors", "optimizer.safetensors", "trainer_state.json",
                           "config.json", "spiece.model", "tokenizer_config.json"}) {
    for (const auto& [name, damage] : damages) {
      const fs::path out = copy_of_whole_run(folder, fmt::format("{}-{}", file, name));
      const fs::path damaged = out / "checkpoint-00000012" / file;
      write_over(damaged, damage(read_text_file(damaged)));
      fs::remove(out / "model.safetensors");
      const Outcome outcome = run_command(commands().pretrain(out.string(), {{"--quiet", ""}}));
      EXPECT_EQ(outcome.exit_code, 0) << outcome.output;
      for (const std::string& said :
           {"damaged checkpoint, using the one before it: " + out.string(), std::string(file),
            std::string("resuming from step 8")}) {
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
  const Outcome refused = run_command(commands().pretrain(out.string()));
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_NE(
      refused.output.find(
          "convseq: " + out.string() +
          ": none of its 2 checkpoints is valid; use --fresh to start over, or choose another "
          "folder\n"),
      std::string::npos)
      << refused.output;
  expect_success(commands().pretrain(out.string(), {{"--fresh", " "}}));
  EXPECT_TRUE(weights_of(out) == weights_of(whole_run()));
}

TEST(BestModel, ThatIsDamagedIsNamedAndOneThatIsGoneIsMadeAgain) {
  TempFolder folder;
  const auto command = [&](const std::string& steps) {
    return commands().pretrain((folder / "out").string(),
                               {{"--steps", steps},
                                {"--schedule", "constant"},
                                {"--validation", commands().path("corpus")},
                                {"--validate-every", "4"}});
  };
  expect_success(command("12"));
  const fs::path best = folder / "out" / "best", weights = best / "model.safetensors";
  write_over(weights, read_text_file(weights).substr(0, 4000));
  const Outcome refused = run_command(command("16"));
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_NE(refused.output.find(fmt::format("convseq: {}: its checksum is not the one it was "
                                            "written with; remove {} to continue without it\n",
                                            weights.string(), best.string())),
            std::string::npos)
      << refused.output;
  fs::remove_all(best);
  expect_success(command("16"));
  EXPECT_TRUE(fs::exists(weights));
}

TEST(RunFolder, IsReplacedInTwoStepsWhereTheFilesystemCannotExchange) {
  TempFolder folder;
  const auto command = [&](const std::string& out) {
    return testing::program_line(commands().pretrain(
        (folder / out).string(),
        {{"--validation", commands().path("corpus")}, {"--validate-every", "2"}}));
  };
  const Outcome usual = testing::run_shell(command("usual"));
  const Outcome other =
      testing::run_shell("LD_PRELOAD=" CONVSEQ_NO_EXCHANGE " " + command("other"));
  EXPECT_EQ(usual.exit_code, 0) << usual.output;
  EXPECT_EQ(other.exit_code, 0) << other.output;
  for (const char* file : {"model.safetensors", "best/model.safetensors"}) {
    EXPECT_TRUE(read_text_file(folder / "usual" / file) == read_text_file(folder / "other" / file));
  }
  for (const auto& entry : fs::directory_iterator(folder / "other")) {
    EXPECT_EQ(entry.path().filename().string().find(".convseq-old-"), std::string::npos)
        << entry.path();
  }
}

TEST(RunFolder, IsOneRunsAtATime) {
  TempFolder folder;
  const fs::path out = folder / "out";
  const std::string first =
      commands().pretrain(out.string(), {{"--steps", "100000"}, {"--save-every", "100000"}});
  ChildProcess process(testing::program_line(first), folder / "output");
  ASSERT_TRUE(process.wait_until([&] { return lines_of_metrics(out) >= 2; }));
  folder.file("out/best.convseq-tmp-1", "being written by the first");
  for (const std::string& second : {first, commands().finetune(out.string())}) {
    const Outcome refused = run_command(second);
    EXPECT_EQ(refused.exit_code, 2);
    EXPECT_NE(refused.output.find("convseq: " + out.string() + ": process "), std::string::npos)
        << refused.output;
  }
  EXPECT_TRUE(fs::exists(out / "best.convseq-tmp-1"));
  process.signal(SIGTERM);
  process.wait();
  EXPECT_FALSE(fs::exists(out / ".lock"));
}

TEST(RunFolder, ThatHoldsSomethingElseIsLeftAlone) {
  TempFolder folder;
  fs::create_directory(folder / "mine");
  const fs::path config = folder.file("mine/config.json", "{\"precious\": true}");
  for (const std::string& command :
       {commands().pretrain((folder / "mine").string()),
        commands().finetune((folder / "mine").string()),
        commands().finetune((folder / "mine").string(), {{"--fresh", " "}})}) {
    const Outcome refused = run_command(command);
    EXPECT_EQ(refused.exit_code, 2);
    EXPECT_NE(refused.output.find(": is not empty and no training run (it holds config.json); "),
              std::string::npos)
        << refused.output;
  }
  EXPECT_EQ(read_text_file(config), "{\"precious\": true}");
}

TEST(DryRun, SaysWhatARunWouldTakeAndWritesNothing) {
  TempFolder folder;
  const std::string out = (folder / "out").string();
  for (const std::string& command : {commands().pretrain(out, {{"--dry-run", " "}}),
                                     commands().finetune(out, {{"--dry-run", " "}})}) {
    const Json plan = report_of(command)["dry_run"];
    EXPECT_EQ(plan["steps"], 12);
    EXPECT_GT(plan["parameters"], 1000);
    EXPECT_GT(plan["seconds_per_step"], 0);
    EXPECT_GT(plan["source_tokens_per_step"], 10);
    EXPECT_GT(plan["peak_memory_bytes"], 1'000'000);
    EXPECT_NE(run_command(command).output.find(": dry run: "), std::string::npos);
    EXPECT_FALSE(fs::exists(out));
  }
}

TEST(Options, OfARunAreSavedAndRepeatIt) {
  TempFolder folder;
  const std::string first = (folder / "first").string(), second = (folder / "second").string();
  expect_success(commands().pretrain(first));
  expect_success("pretrain " + second + " --config " + first + "/options.json");
  EXPECT_TRUE(weights_of(first) == weights_of(second));
  expect_success(commands().finetune(first + "-task"));
  expect_success("finetune " + second + "-task --config " + first + "-task/options.json --fresh");
  const Json options = read_json_file(second + "-task/options.json");
  EXPECT_FALSE(options.contains("fresh")) << "repeated, it would delete the checkpoints";
  EXPECT_TRUE(weights_of(first + "-task") == weights_of(second + "-task"));
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
    EXPECT_EQ(full.exit_code, 1);
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
  const Outcome outcome = run_command(commands().pretrain((folder / "out").string()));
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_NE(outcome.output.find(
                "/metrics.jsonl: cannot write: No space left on device; there is no earlier "),
            std::string::npos)
      << outcome.output;
}

namespace {

// Checkpoints, shards and a fine-tuning run that version 0.1.0 (8af5e63) left behind.
fs::path old_runs(const TempFolder& folder) {
  fs::copy(CONVSEQ_SOURCE_DIR "/tests/goldens/run_v0_1", folder / "old",
           fs::copy_options::recursive);
  for (const char* model : {"pretrain", "pretrain/checkpoint-00000004", "finetune/best",
                            "finetune/checkpoint-00000005"}) {
    for (const char* file : {"spiece.model", "tokenizer_config.json"}) {
      fs::copy(folder / "old" / file, folder / "old" / model / file);
    }
  }
  return folder / "old";
}

// Of the losses and validations of both, step by step.
void expect_same_course(const fs::path& metrics, const fs::path& expected) {
  const auto found = testing::read_json_lines(metrics), wanted = testing::read_json_lines(expected);
  ASSERT_EQ(found.size(), wanted.size());
  for (size_t i = 0; i < found.size(); ++i) {
    for (const char* key : {"step", "loss", "gradient_norm", "validation_accuracy"}) {
      if (wanted[i].contains(key)) {
        EXPECT_NEAR(found[i][key].get<double>(), wanted[i][key].get<double>(), 1e-4) << wanted[i];
      }
    }
  }
}

}  // namespace

TEST(OldRuns, GoOnAsTheVersionThatBeganThemWouldHave) {
  TempFolder folder;
  const fs::path old = old_runs(folder);
  const Outcome pretrained = run_command(fmt::format(
      "pretrain {0}/pretrain --corpus {0}/shards --tokenizer {0} --set d_model=8 d_ff=8 heads=1 "
      "d_kv=8 conv_heads=2 encoder_layers=1 decoder_layers=1 --batch 4 --source 32 --target 16 "
      "--warmup 2 --schedule constant --steps 8 --log-every 1 --keep 1 --device cpu",
      old.string()));
  EXPECT_EQ(pretrained.exit_code, 0) << pretrained.output;
  EXPECT_NE(pretrained.output.find("resuming from step 4"), std::string::npos);
  expect_same_course(old / "pretrain" / "metrics.jsonl", old / "pretrain-8-steps.jsonl");
}

TEST(OldRuns, OfFinetuningGoOnToo) {
  TempFolder folder;
  const fs::path old = old_runs(folder);
  const Outcome tuned = run_command(fmt::format(
      "finetune {0}/finetune {0}/task/task.json --from {0}/pretrain --batch 8 --warmup 2 "
      "--schedule constant --validate-every 2 --steps 9 --log-every 1 --keep 1 --device cpu",
      old.string()));
  EXPECT_EQ(tuned.exit_code, 0) << tuned.output;
  EXPECT_NE(tuned.output.find("resuming from step 5"), std::string::npos);
  expect_same_course(old / "finetune" / "metrics.jsonl", old / "finetune-9-steps.jsonl");
  expect_success(
      fmt::format("evaluate {0}/finetune/best {0}/task/task.json --quiet", old.string()));
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

TEST(TrainedModel, RemembersItsTemplateLabelsAndLimits) {
  TempFolder folder;
  std::string table = "text,label\n";
  for (int i = 0; i < 40; ++i)
    table += fmt::format("a {} day,{}\n", i, i % 2 == 0 ? "good" : "bad");
  const std::string data = folder.file("reviews.csv", table).string();
  const std::string newer = folder.file("newer.csv", table).string();
  const std::string unlabelled = folder.file("plain.csv", "words\nx\n").string();
  for (const char* form : {"text", "pooled"}) {
    const std::string out = (folder / form).string();
    expect_success(fmt::format(
        "finetune {} {} --source 'review: {{text}}' --target '{{label}}' {} --answer {} --model "
        "paper-light-tiny --tokenizer {} --set d_model=32 d_ff=64 heads=2 d_kv=16 --steps 4 "
        "--device cpu --quiet",
        out, data, form == std::string("text") ? "--labels good,bad" : "", form,
        commands().path("tokenizer")));
    const Json task = read_json_file(out + "/task.json");
    EXPECT_EQ(task["source"], "review: {text}");
    EXPECT_EQ(task["labels"].size(), 2u);
    EXPECT_FALSE(task.contains("files"));
    const Json report = report_of(fmt::format("evaluate {} {} --quiet", out, newer));
    EXPECT_EQ(report["scores"][0]["count"], 40);
    EXPECT_EQ(report["rows"]["rows"], 40);
    EXPECT_EQ(report["task"], "reviews.csv");
    EXPECT_EQ(report["files"], Json::array({newer}));
    const Outcome read = run_command(fmt::format("evaluate {} {} --quiet", out, newer));
    EXPECT_EQ(read.output.substr(0, read.output.find('\n')), "newer.csv:") << read.output;
    const Outcome refused = run_command(fmt::format("evaluate {} {} --quiet", out, unlabelled));
    EXPECT_EQ(refused.exit_code, 2);
    EXPECT_NE(refused.output.find("has no column text; it has: words"), std::string::npos)
        << refused.output;
  }
}

TEST(Predictions, AreCheckedBeforeTheWorkAndNeverReplaceWhatIsRead) {
  TempFolder folder;
  const std::string out = (folder / "out").string(), task = commands().task("pair_1");
  expect_success(commands().finetune(out, {{"--steps", "2"}, {"--warmup", "0"}}));
  const fs::path data = fs::path(task).parent_path() / "test.jsonl";
  const std::string before = read_text_file(data);
  const auto evaluate = [&](const std::string& predictions) {
    return run_command(
        fmt::format("evaluate {} {} --quiet --predictions {}", out, task, predictions));
  };
  EXPECT_NE(evaluate(data.string()).output.find(": is read by this command; "), std::string::npos);
  EXPECT_EQ(read_text_file(data), before);
  for (const char* own : {"/config.json", "/model.safetensors"}) {
    EXPECT_NE(evaluate(out + own).output.find(": is read by this command; "), std::string::npos);
  }
  const Outcome nowhere = evaluate("/nope/p.jsonl");
  EXPECT_EQ(nowhere.exit_code, 2);
  EXPECT_EQ(nowhere.output, "convseq: /nope/p.jsonl: cannot create: No such file or directory\n");
  fs::create_symlink("answers.jsonl", folder / "link");
  EXPECT_EQ(evaluate((folder / "link").string()).exit_code, 0);
  EXPECT_TRUE(fs::is_symlink(folder / "link"));
  EXPECT_EQ(testing::read_json_lines(folder / "answers.jsonl").size(), 24u);
  // A file that standard output was redirected to keeps the report too.
  const fs::path both = folder / "both";
  testing::run_shell(testing::program_line(fmt::format(
      "evaluate {} {} --quiet --predictions /dev/stdout >{}", out, task, both.string())));
  const std::string text = read_text_file(both);
  EXPECT_NE(text.find("\"prediction\""), text.npos) << text;
  EXPECT_NE(text.find("24 examples"), text.npos) << text;
  // To standard output alone, the report beside it.
  const Outcome piped = testing::run_shell(testing::program_line(
      fmt::format("evaluate {} {} --quiet --predictions - 2>/dev/null | wc -l", out, task)));
  EXPECT_EQ(std::stoi(piped.output), 24) << piped.output;
  const Outcome full = testing::run_shell(
      "(" +
      testing::program_line(fmt::format("evaluate {} {} --quiet --predictions -", out, task)) +
      " >/dev/full)");
  EXPECT_EQ(full.exit_code, 1);
  EXPECT_NE(full.output.find("24 examples"), std::string::npos) << "the report is not lost";
  EXPECT_TRUE(
      full.output.ends_with("\nconvseq: standard output: cannot write: No space left on device\n"))
      << full.output;
}

TEST(TrainedModel, HasItsTokenizerWhateverItsFileIsCalled) {
  TempFolder folder;
  const fs::path file = folder / "my.model", out = folder / "out";
  fs::copy(commands().path("tokenizer/spiece.model"), file);
  expect_success(commands().pretrain(out.string(), {{"--tokenizer", file.string()}}));
  expect_success(commands().finetune((folder / "next").string(), {{"--from", out.string()}}));
}

}  // namespace convseq
