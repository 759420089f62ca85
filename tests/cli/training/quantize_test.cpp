// `convseq quantize`, and the commands that take the folders that it writes.
#include "training_commands.h"

namespace convseq {
namespace fs = std::filesystem;
using testing::commands;
using testing::expect_success;
using testing::Outcome;
using testing::report_of;
using testing::run_command;
using testing::run_convseq;
using testing::TempFolder;

namespace {

uintmax_t bytes_in(const fs::path& folder) {
  uintmax_t bytes = 0;
  for (const auto& entry : fs::directory_iterator(folder)) bytes += entry.file_size();
  return bytes;
}

void expect_refusal(const std::string& arguments, const std::string& named) {
  const Outcome outcome = run_convseq(arguments);
  EXPECT_EQ(outcome.exit_code, 2) << arguments << "\n" << outcome.output;
  EXPECT_NE(outcome.output.find(named), std::string::npos) << named << ":\n" << outcome.output;
}

// A small model that was tuned on pair_1, with a decoder or with a pooled head; made once.
const std::string& tuned(bool pooled) {
  const auto make = [](const std::string& name, const std::string& answer) {
    const std::string out = commands().path(name);
    expect_success(commands().finetune(out, {{"--answer", answer}}));
    return out;
  };
  static const std::string text = make("tuned-text", "text");
  static const std::string head = make("tuned-head", "pooled");
  return pooled ? head : text;
}

}  // namespace

TEST(QuantizeCommand, PrintsSizesAndTheScoresThatEvaluateFinds) {
  TempFolder folder;
  for (const bool pooled : {false, true}) {
    for (const std::string type : {"int8", "bf16"}) {
      const std::string out = (folder / fmt::format("{}-{}", type, pooled)).string();
      const std::string task = commands().task("pair_1");
      const Json found =
          report_of(fmt::format("quantize {} {} --{} {} --quiet", tuned(pooled), out, type, task));
      EXPECT_EQ(found.at("bytes"), bytes_in(out));
      EXPECT_GT(found.at("bytes_before"), found.at("bytes"));
      EXPECT_EQ(found.at("examples"), 24);
      EXPECT_EQ(found.at("difference").at(0).at("metric"), "accuracy");
      for (const auto& [when, model] : {std::pair{"before", tuned(pooled)}, {"after", out}}) {
        const Json evaluated = report_of(
            fmt::format("evaluate {} {} --split test --device cpu --no-nll --quiet", model, task));
        for (const auto& [key, value] : found.at(when).items()) {
          EXPECT_EQ(evaluated.at(key), value) << when << " " << key;
        }
      }
    }
  }
}

TEST(QuantizeCommand, PrintsATableOfBothScores) {
  TempFolder folder;
  const Outcome outcome =
      run_convseq(fmt::format("quantize {} {} --int8 --quiet --task {} --limit 8", tuned(true),
                              (folder / "out").string(), commands().task("pair_1")));
  EXPECT_EQ(outcome.exit_code, 0);
  for (const char* part : {" bytes (", "in int8, before ", "pair_1 test, 8 examples", "accuracy"}) {
    EXPECT_NE(outcome.output.find(part), std::string::npos) << part << ":\n" << outcome.output;
  }
}

TEST(QuantizeCommand, ItsModelsAreTunedInspectedAndReplaced) {
  TempFolder folder;
  const std::string int8 = (folder / "int8").string(), out = (folder / "out").string();
  expect_success(fmt::format("quantize {} {} --int8", tuned(false), int8));
  expect_success("inspect " + int8);
  expect_success(commands().finetune(out, {{"--from", int8}}));
  const auto shown_config = [](const std::string& model) {
    return parse_json(run_command("inspect " + model + " --json").output, model).at("config");
  };
  EXPECT_EQ(shown_config(out), shown_config(tuned(false)));
  expect_refusal(fmt::format("quantize {} {} --bf16", tuned(false), int8), "--force");
  expect_success(fmt::format("quantize {} {} --bf16 --force", tuned(false), int8));
  expect_success(commands().finetune((folder / "bf16").string(), {{"--from", int8}}));
}

TEST(QuantizeCommand, RefusesBadInputAndMakesNothing) {
  TempFolder folder;
  const std::string model = tuned(true), out = (folder / "out").string(), to = " " + out + " ";
  const std::string int8 = (folder / "int8").string();
  expect_success(fmt::format("quantize {} {} --int8", model, int8));
  const std::vector<std::pair<std::string, std::string>> table = {
      {model + to, "either --int8 or --bf16"},
      {model + to + "--int8 --bf16", "either --int8 or --bf16"},
      {model + " " + model + " --int8 --force", model + ": is what the command reads"},
      {int8 + to + "--int8", "is int8 already"},
      {out + "-none" + to + "--int8", out + "-none: no such model folder"},
      {model + to + "--int8 --task poem_9", "neither a task file nor a known task"},
      {model + to + "--int8 --split dev --task " + commands().task("pair_1"), "no split dev"},
      {model + " " + commands().path("corpus") + " --int8", "is not empty"},
      {model + to + "--int8 --test nowhere.jsonl", "nowhere.jsonl"},
      {model + to + "--int8 --limit 3", "--train, --split and --limit are of a comparison"},
  };
  for (const auto& [arguments, named] : table) {
    expect_refusal("quantize " + arguments, named);
    EXPECT_FALSE(fs::exists(out)) << arguments;
  }
}

}  // namespace convseq
