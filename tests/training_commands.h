#pragma once

#include <gtest/gtest.h>

#include <map>
#include <sstream>
#include <vector>

#include "convseq/base/file/json_file.h"
#include "program.h"
#include "temp_folder.h"

namespace convseq::testing {

using CommandFlags = std::map<std::string, std::string>;

// Synthetic data, and the arguments of commands that train tiny models on it.
class TrainingCommands {
 public:
  TrainingCommands() {
    make(fmt::format("synth corpus {} --documents 60 --validation-documents 10 --shards 2",
                     path("corpus")));
    make(tokenizer("tokenizer", "--model bpe --vocabulary 400"));
    make(
        fmt::format("synth tasks {} --family pair,span --comparisons 1 --facts 2 --train 64 "
                    "--validation 24 --test 24",
                    path("tasks")));
  }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  std::string task(const std::string& name) const { return path("tasks/" + name + "/task.json"); }
  std::string tokenizer(const std::string& out, const std::string& how) const {
    return fmt::format("tokenizer train {} --out {} {}", path("corpus"), path(out), how);
  }

  // `changed` flags take the place of the usual ones; "" leaves one out.
  std::string pretrain(const std::string& out, const CommandFlags& changed = {}) const {
    return "pretrain " + out +
           with({{"--corpus", path("corpus")},
                 {"--tokenizer", path("tokenizer")},
                 {"--set", "d_model=32 d_ff=64 heads=2 d_kv=16 dropout=0.1"},
                 {"--batch", "4"},
                 {"--source", "32"},
                 {"--target", "16"},
                 {"--warmup", "2"},
                 {"--steps", "12"},
                 {"--save-every", "4"},
                 {"--log-every", "1"},
                 {"--device", "cpu"},
                 {"--quiet", kNoValue}},
                changed);
  }

  // From scratch where no --from is among the changed.
  std::string finetune(const std::string& out, const CommandFlags& changed = {},
                       const std::string& task_name = "pair_1") const {
    CommandFlags usual = {{"--batch", "8"},    {"--steps", "12"},    {"--validate-every", "4"},
                          {"--warmup", "2"},   {"--log-every", "1"}, {"--save-every", "4"},
                          {"--device", "cpu"}, {"--quiet", kNoValue}};
    if (!changed.contains("--from")) {
      usual["--model"] = "paper-light-tiny";
      usual["--tokenizer"] = path("tokenizer");
      usual["--set"] = "d_model=32 d_ff=64 heads=2 d_kv=16 dropout=0.1";
    }
    return "finetune " + out + " " + task(task_name) + with(usual, changed);
  }

  static constexpr const char* kNoValue = " ";  // of a flag that stands alone

 private:
  void make(const std::string& arguments) const {
    const Outcome outcome = run_convseq(arguments);
    require(outcome.exit_code == 0, "{}: {}", arguments, outcome.output);
  }

  static std::string with(CommandFlags flags, const CommandFlags& changed) {
    for (const auto& [flag, value] : changed) flags[flag] = value;
    std::string text;
    for (const auto& [flag, value] : flags) {
      if (!value.empty()) text += " " + flag + " " + value;
    }
    return text;
  }

  TempFolder folder_;
};

// Made once for all tests of a program.
inline const TrainingCommands& commands() {
  static const TrainingCommands made;
  return made;
}

// On one thread: tiny tensors on many mostly wait for one another.
inline std::string program_line(const std::string& arguments) {
  return "env OMP_NUM_THREADS=1 ASAN_OPTIONS=detect_leaks=0 " CONVSEQ_PROGRAM " " + arguments;
}

inline Outcome run_command(const std::string& arguments) {
  return run_shell(program_line(arguments));
}

inline void expect_success(const std::string& arguments) {
  const Outcome outcome = run_command(arguments);
  EXPECT_EQ(outcome.exit_code, 0) << arguments << "\n" << outcome.output;
}

// What a command prints with --json: one line, after whatever went to standard error.
inline Json report_of(const std::string& arguments) {
  const Outcome outcome = run_command(arguments + " --json");
  EXPECT_EQ(outcome.exit_code, 0) << arguments << "\n" << outcome.output;
  const size_t newline = outcome.output.rfind('\n', outcome.output.size() - 2);
  return parse_json(outcome.output.substr(newline == std::string::npos ? 0 : newline + 1),
                    "the report");
}

// Every line of a .jsonl file is JSON, or this fails.
inline std::vector<Json> read_json_lines(const std::filesystem::path& path) {
  std::vector<Json> found;
  std::istringstream lines(read_text_file(path));
  for (std::string line; std::getline(lines, line);) {
    found.push_back(parse_json(line, path.string()));
  }
  return found;
}

// Without what the clock and the machine say.
inline Json without_pace(Json json) {
  for (const char* key :
       {"seconds", "source_tokens_per_second", "flop_utilisation", "peak_memory_bytes", "out"}) {
    json.erase(key);
  }
  return json;
}

inline std::vector<Json> metrics_without_pace(const std::filesystem::path& run) {
  std::vector<Json> lines = read_json_lines(run / "metrics.jsonl");
  for (Json& line : lines) line = without_pace(line);
  return lines;
}

}  // namespace convseq::testing
