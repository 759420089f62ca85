#include "convseq/cli/frame/config_file.h"

#include <gtest/gtest.h>

#include "convseq/cli/options/numbers.h"
#include "program.h"
#include "temp_folder.h"

namespace convseq {
namespace fs = std::filesystem;
using testing::expect_refusal;
using testing::run_convseq;
using testing::TempFolder;

namespace {

// A program with one command of every kind of option.
struct Sample {
  Sample() : program("", "sample") {
    CLI::App* command = program.add_subcommand("run", "");
    command->add_option("OUT,--out", out, "")->required();
    command->add_option("--corpus", corpora, "");
    command->add_option("--name", name, "")->capture_default_str();
    cli::add_count(*command, "--steps", steps, "");
    cli::add_counts(*command, "--lengths", lengths, "");
    cli::add_real(*command, "--rate", rate, "");
    command->add_flag("!--no-best", best, "");
    command->add_flag("--quiet", quiet, "");
    cli::add_config_option(program);
  }
  Json parse(std::vector<std::string> arguments, const std::vector<std::string>& only = {}) {
    arguments = cli::with_config_first(arguments);
    std::reverse(arguments.begin(), arguments.end());
    program.parse(arguments);
    return cli::effective_options(*program.get_subcommand("run"), only);
  }

  CLI::App program;
  std::string out, name = "light";
  std::vector<std::string> corpora;
  int64_t steps = 1000;
  std::vector<int64_t> lengths = {64, 128};
  double rate = 0.02;
  bool best = true, quiet = false;
};

}  // namespace

TEST(ConfigFile, GivesTheOptionsOfACommand) {
  TempFolder folder;
  const std::string out = (folder / "tasks").string();
  const Json config = {{"out", out},
                       {"family", {"pair", "span"}},
                       {"comparisons", {1, 3}},
                       {"train", 40},
                       {"validation", 8},
                       {"test", 8},
                       {"shown-words", 0.5},
                       {"json", true},
                       {"seed", nullptr}};
  const std::string file = folder.file("c.json", config.dump()).string();
  const auto outcome = run_convseq("synth tasks --config " + file);
  ASSERT_EQ(outcome.exit_code, 0) << outcome.output;
  EXPECT_EQ(Json::parse(outcome.output).size(), 3u);
  EXPECT_TRUE(fs::exists(fs::path(out) / "pair_3" / "task.json"));
}

TEST(ConfigFile, IsOverriddenByTheCommandLine) {
  TempFolder folder;
  const std::string file =
      folder.file("c.json", R"({"out": "/nowhere/out", "documents": 7, "shards": 1, "json": true})")
          .string();
  const auto outcome = run_convseq("synth corpus " + (folder / "c").string() + " --config=" + file +
                                   " --documents 5");
  ASSERT_EQ(outcome.exit_code, 0) << outcome.output;
  EXPECT_NE(outcome.output.find("\"documents\":405"), std::string::npos) << outcome.output;
}

TEST(ConfigFile, IsRefusedByNameWhereItIsWrong) {
  TempFolder folder;
  const auto with = [&](const std::string& text) { return folder.file("c.json", text).string(); };
  const std::string path = (folder / "c.json").string();
  const std::string command = "synth corpus --config " + path;
  with(R"({"out": "x", "documets": 5})");
  expect_refusal(
      command,
      path + ": documets is not an option of convseq synth corpus; did you mean documents?");
  with(R"({"out": "x", "json": 3})");
  expect_refusal(command, path + ": json is 3; allowed: true, false");
  with(R"({"out": ["x", "y"]})");
  expect_refusal(command, path + R"(: out is ["x","y"]; allowed: one value)");
  with(R"({"out": {"x": 1}})");
  expect_refusal(command, path + R"(: out is {"x":1}; allowed: a string or a number)");
  with(R"({"out": "x", "documents": 0})");
  expect_refusal(command, "--documents: 0; allowed: 1 to 1000000000");
  with(R"([1])");
  expect_refusal(command, path + ": holds no JSON object");
  expect_refusal("synth corpus x --config /nowhere/c.json",
                 "/nowhere/c.json: cannot open: No such file or directory");
  expect_refusal("synth corpus x --config", "--config needs the name of a JSON file");
  expect_refusal(command + " --config " + path, "--config is given twice; name one file");
}

TEST(ConfigFile, IsAnOptionOfEveryCommand) {
  for (const char* command :
       {"pretrain", "finetune", "evaluate", "predict", "tokenizer train", "tokenize", "task",
        "inspect", "convert", "synth corpus", "bench ops"}) {
    EXPECT_NE(run_convseq(std::string(command) + " --help").output.find("--config FILE"),
              std::string::npos)
        << command;
  }
}

TEST(EffectiveOptions, AreWhatWasGivenAndTheDefaults) {
  Sample sample;
  EXPECT_EQ(sample.parse({"run", "here", "--corpus", "a", "--corpus", "b", "--rate", "1e-3",
                          "--no-best", "--lengths", "3,5"}),
            (Json{{"out", "here"},
                  {"corpus", {"a", "b"}},
                  {"name", "light"},
                  {"steps", 1000},
                  {"lengths", {3, 5}},
                  {"rate", 0.001},
                  {"no-best", true}}));
}

TEST(EffectiveOptions, LeaveOutADefaultThatDependsOnOthers) {
  EXPECT_FALSE(Sample().parse({"run", "here"}, {"steps"}).contains("steps"));
  EXPECT_EQ(Sample().parse({"run", "here", "--steps", "9"}, {"steps"})["steps"], 9);
}

TEST(EffectiveOptions, RepeatACommandAsItsConfigFile) {
  TempFolder folder;
  Sample first, second;
  const Json options = first.parse({"run", "here", "--corpus", "a", "--corpus", "b", "--no-best",
                                    "--steps", "77", "--quiet", "--rate", "0.1"});
  const std::string file = folder.file("o.json", options.dump()).string();
  Json again = second.parse({"run", "there", "--config", file});
  EXPECT_EQ(again["out"], "there");
  again["out"] = "here";
  EXPECT_EQ(again, options);
  EXPECT_EQ(second.steps, 77);
  EXPECT_EQ(second.rate, 0.1);
  EXPECT_FALSE(second.best);
  EXPECT_TRUE(second.quiet);
  EXPECT_EQ(second.corpora, (std::vector<std::string>{"a", "b"}));
}

}  // namespace convseq
