#include "program.h"

#include <gtest/gtest.h>

#include "convseq/base/file/json_file.h"
#include "temp_folder.h"

namespace convseq {
using testing::expect_refusal;
using testing::run_convseq;
using testing::TempFolder;

namespace {

void expect_refusal_with(const std::string& arguments, const std::string& part) {
  const auto outcome = run_convseq(arguments);
  EXPECT_EQ(outcome.exit_code, 2) << arguments;
  EXPECT_EQ(outcome.output.find("convseq: "), 0u) << outcome.output;
  EXPECT_EQ(outcome.output.find('\n'), outcome.output.size() - 1) << outcome.output;
  EXPECT_NE(outcome.output.find(part), std::string::npos) << outcome.output;
}

}  // namespace

TEST(Version, IsOneLineAsAFlag) {
  const auto outcome = run_convseq("--version");
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_EQ(outcome.output.find("convseq "), 0u) << outcome.output;
  EXPECT_EQ(outcome.output.find('\n'), outcome.output.size() - 1) << outcome.output;
}

TEST(Version, NamesLibtorchCommitCpuAndGpus) {
  const auto text = run_convseq("version");
  EXPECT_EQ(text.exit_code, 0);
  for (const char* part : {"convseq ", "\nlibtorch ", "\nCPU: ", "\nCUDA kernels: "}) {
    EXPECT_NE(("\n" + text.output).find(part), std::string::npos) << text.output;
  }
  const Json json = Json::parse(run_convseq("version --json").output);
  for (const char* key :
       {"version", "commit", "libtorch", "libtorch_cuda", "cuda_kernels", "cpu", "gpus"}) {
    EXPECT_TRUE(json.contains(key)) << key;
  }
  EXPECT_FALSE(json["cpu"]["model"].get<std::string>().empty());
  EXPECT_TRUE(json["gpus"].is_array());
}

TEST(Help, IsTheSameThroughTheCommandAndTheFlags) {
  for (const char* command :
       {"", "inspect", "bench", "bench ops", "synth tasks", "tokenizer train"}) {
    const auto help = run_convseq(std::string("help ") + command);
    EXPECT_EQ(help.exit_code, 0) << help.output;
    EXPECT_EQ(help.output, run_convseq(std::string(command) + " --help").output);
    EXPECT_EQ(help.output, run_convseq(std::string(command) + " -h").output);
  }
  expect_refusal_with("help bench opps", "did you mean ops?");
}

TEST(Help, ShowsChoicesDefaultsAndNoInternals) {
  const std::string help = run_convseq("bench step --help").output;
  EXPECT_NE(help.find("--device auto|cpu|cuda"), std::string::npos) << help;
  EXPECT_NE(help.find("[default: auto]"), std::string::npos) << help;
  EXPECT_NE(help.find("--no-graph "), std::string::npos) << help;
  EXPECT_EQ(help.find("{false}"), std::string::npos) << help;
}

TEST(WrongUse, SuggestsTheCommandThatWasMeant) {
  expect_refusal_with("inspct", "inspct is not a command of convseq; allowed: ");
  expect_refusal_with("inspct", "; did you mean inspect?");
  expect_refusal(
      "bench opps",
      "opps is not a command of convseq bench; allowed: ops, step, finetune, length, decode, cpu; "
      "did you mean ops?");
  expect_refusal(
      "bench",
      "convseq bench needs a command: ops, step, finetune, length, decode, cpu (see convseq "
      "bench --help)");
}

TEST(WrongUse, SuggestsTheOptionThatWasMeant) {
  expect_refusal(
      "bench ops --divice cpu",
      "--divice is not an option of convseq bench ops; did you mean --device? (see convseq "
      "bench ops --help)");
  expect_refusal(
      "synth corpus --docments=3",
      "--docments is not an option of convseq synth corpus; did you mean --documents? (see "
      "convseq synth corpus --help)");
  expect_refusal("version --zzzzzz",
                 "--zzzzzz is not an option of convseq version (see convseq version --help)");
}

TEST(WrongUse, SuggestsTheChoiceAndTheKeyThatWereMeant) {
  expect_refusal_with("synth tasks out --family longrange", "; did you mean long_range?");
  TempFolder folder;
  const auto config = folder.file("c.json", R"({"mixer": "light", "kernel_size": 3})");
  expect_refusal_with("inspect " + config.string(), "; did you mean kernel_sizes?");
}

TEST(WrongUse, NamesWhatIsMissingOrTooMuch) {
  expect_refusal("synth corpus", "OUT is required (see convseq synth corpus --help)");
  expect_refusal("synth corpus a b",
                 "convseq synth corpus does not take b (see convseq synth "
                 "corpus --help)");
}

TEST(StandardOutput, ThatCannotBeWrittenIsAnError) {
  for (const char* command : {"version", "version --json", "--version", "help", "man",
                              "completion bash", "inspect paper-light-tiny"}) {
    const auto outcome =
        testing::run_shell(fmt::format("({} {} > /dev/full)", CONVSEQ_PROGRAM, command));
    EXPECT_EQ(outcome.exit_code, 1) << command;
    EXPECT_EQ(outcome.output, "convseq: standard output: cannot write: No space left on device\n")
        << command;
  }
}

TEST(StandardOutput, AndStandardErrorThatCannotBeWrittenAreAnErrorToo) {
  EXPECT_EQ(run_convseq("version > /dev/full").exit_code, 1);  // both: the test joins them
}

TEST(Numbers, AreReadExactlyAndWithinTheirRange) {
  const std::string corpus = "synth corpus /nowhere/out ", tasks = "synth tasks /nowhere/out ";
  for (const char* text : {"-1", "0", "99999999999999999999", "1000000001"}) {
    expect_refusal(corpus + "--documents " + text,
                   fmt::format("--documents: {}; allowed: 1 to 1000000000", text));
  }
  for (const char* text : {"few", "1.5", "1e3", "7x", "''", "0x10", "+1"}) {
    expect_refusal_with(corpus + "--documents " + text,
                        "; allowed: a whole number, 1 to 1000000000");
  }
  for (const char* text : {"-1", "18446744073709551616", "1.0"}) {
    expect_refusal(corpus + "--seed " + text,
                   fmt::format("--seed: {}; allowed: 0 to 18446744073709551615", text));
  }
  for (const char* text : {"nan", "inf", "1e300", "-0.1", "0", "a"}) {
    expect_refusal(tasks + "--shown-words " + text,
                   fmt::format("--shown-words: {}; allowed: a number over 0, up to 1", text));
  }
  expect_refusal(tasks + "--distances 8,100000000",
                 "--distances: 100000000; allowed: 1 to 1048576");
  expect_refusal("tokenize a b --tokenizer c --threads 1000000",
                 "--threads: 1000000; allowed: 1 to 1024");
  expect_refusal("bench ops --batch 100000000000",
                 "--batch: 100000000000; allowed: 1 to 1000000000");
  expect_refusal(tasks + "--max-memory 5X",
                 "--max-memory: 5X; allowed: a size over 0 such as 16G, 500M or 2T");
}

TEST(Memory, IsEstimatedBeforeTheWork) {
  TempFolder folder;
  const std::string tasks = "synth tasks " + (folder / "out").string();
  expect_refusal_with(tasks + " --train 1000000000 --max-memory 16G", "synth tasks: needs about ");
  expect_refusal_with(tasks + " --train 1000000000 --max-memory 16G", "the limit is 16 GB");
  expect_refusal_with(tasks + " --train 1000000000", "G to try anyway");
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));

  const auto corpus = folder.file("c.txt", "A sentence of some words.\nAnother one.\n");
  const auto trained = run_convseq(fmt::format("tokenizer train {} --out {} --max-memory 100",
                                               corpus.string(), (folder / "tok").string()));
  EXPECT_EQ(trained.exit_code, 2);
  EXPECT_NE(trained.output.find("convseq: tokenizer train --lines 1000000: needs about "),
            std::string::npos)
      << trained.output;
}

}  // namespace convseq
