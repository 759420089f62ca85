#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "convseq/spec/presets.h"
#include "program.h"
#include "temp_folder.h"

namespace convseq {
namespace fs = std::filesystem;
using testing::expect_refusal;
using testing::run_convseq;
using testing::TempFolder;

namespace {

const std::string kGoldens = CONVSEQ_SOURCE_DIR "/tests/goldens/";

}  // namespace

TEST(Program, SaysItsVersion) {
  const auto outcome = run_convseq("version");
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_EQ(outcome.output.find("convseq "), 0u) << outcome.output;
}

TEST(Program, RefusesWrongUseInOneLine) {
  for (const char* arguments : {"", "nonsense", "version --no-such-flag", "inspect", "inspect a b",
                                "convert --from onnx a b", "inspect paper-light-tiny --source 0"}) {
    const auto outcome = run_convseq(arguments);
    EXPECT_EQ(outcome.exit_code, 2) << arguments;
    EXPECT_EQ(outcome.output.find("convseq: "), 0u) << outcome.output;
    EXPECT_EQ(outcome.output.find('\n'), outcome.output.size() - 1) << outcome.output;
  }
}

TEST(Program, HelpsEveryCommandWithAnExample) {
  for (const char* command : {"pretrain", "finetune", "evaluate", "predict", "inspect", "convert",
                              "version", "completion", "man", "help"}) {
    const auto outcome = run_convseq(std::string(command) + " --help");
    EXPECT_EQ(outcome.exit_code, 0);
    EXPECT_NE(outcome.output.find("Example"), outcome.output.npos) << outcome.output;
    EXPECT_NE(outcome.output.find("convseq " + std::string(command)), outcome.output.npos);
  }
}

TEST(Inspect, PrintsTheBaseModels) {
  for (const std::string& family : preset_families()) {
    const auto outcome = run_convseq("inspect --json " + family + "-base");
    ASSERT_EQ(outcome.exit_code, 0) << outcome.output;
    const auto json = nlohmann::json::parse(outcome.output);
    EXPECT_GE(json["parameters"], 200'000'000);
    EXPECT_LE(json["parameters"], 235'000'000);
    EXPECT_EQ(json["training_flops"], 3 * json["forward_flops"].get<int64_t>());
  }
  const auto text = run_convseq("inspect paper-light-base --source 64 --target 8");
  EXPECT_NE(text.output.find("208.8M parameters"), text.output.npos);
  EXPECT_NE(text.output.find("FLOPs forward, source 64, target 8"), text.output.npos);
  EXPECT_NE(text.output.find("encoder 73 tokens"), text.output.npos);
}

TEST(Convert, WritesAFolderThatInspectAccepts) {
  TempFolder folder;
  const std::string out = (folder / "t5").string();
  const auto converted = run_convseq("convert --from hf-t5 " + kGoldens + "hf_t5_v1_1 " + out);
  EXPECT_EQ(converted.exit_code, 0) << converted.output;
  EXPECT_EQ(run_convseq("inspect " + out).exit_code, 0);
}

TEST(BadInput, IsRefusedInOneLineWithExitCodeTwo) {
  TempFolder folder;
  const auto file = [&](const std::string& name, const std::string& content) {
    return folder.file(name, content).string();
  };
  const std::string sizes =
      R"("vocab_size": 100, "d_model": 12, "d_ff": 24, "encoder_layers": 12, "decoder_layers": 12)";
  const auto config = [&](const std::string& name, const std::string& rest) {
    return file(name, "{\"mixer\": \"light\", " + sizes + rest + "}");
  };
  const std::string broken = file("broken.json", "{\"mixer\": ");
  const auto outcome = run_convseq("inspect " + broken);
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_EQ(outcome.output.find("convseq: " + broken + ": not JSON: parse error at line 1"), 0u)
      << outcome.output;

  const std::string list = file("list.json", "[1, 2]");
  expect_refusal("inspect " + list, list + ": holds no JSON object");
  const std::string kernels =
      config("kernels.json", R"(, "kernel_sizes": [4,4,7,7,15,15,15,15,31,31,31])");
  expect_refusal("inspect " + kernels, kernels + ": kernel_sizes has 11 entries for 12 layers");
  const std::string zero = config("zero.json", R"(, "heads": 0)");
  expect_refusal("inspect " + zero, zero + ": heads is 0; allowed: 1 to 16777216");
  const std::string divide = config("divide.json", R"(, "conv_heads": 5)");
  expect_refusal("inspect " + divide, divide + ": d_model 12 does not divide into conv_heads 5");
  const std::string twice = config("twice.json", R"(, "d_ff": 3)");
  expect_refusal("inspect " + twice, twice + ": d_ff is given twice");
  const std::string none = (folder / "none.json").string();
  expect_refusal("inspect " + none, none + ": cannot open: No such file or directory");
  const std::string unknown = config("unknown.json", R"(, "kernal": 3)");
  const auto unknown_key = run_convseq("inspect " + unknown);
  EXPECT_EQ(unknown_key.exit_code, 2);
  EXPECT_EQ(unknown_key.output.find("convseq: " + unknown + ": kernal is no known key; allowed: "),
            0u);
}

TEST(BadInput, InCheckpointsIsRefusedInOneLineWithExitCodeTwo) {
  TempFolder folder;
  const std::string model = (folder / "m").string(), weights = model + "/model.safetensors";
  ASSERT_EQ(run_convseq("convert --from hf-t5 " + kGoldens + "hf_t5_v1_0 " + model).exit_code, 0);
  const auto expect_one_line = [&] {
    const auto outcome = run_convseq("inspect " + model);
    EXPECT_EQ(outcome.exit_code, 2);
    EXPECT_EQ(outcome.output.find("convseq: " + weights + ": "), 0u) << outcome.output;
    EXPECT_EQ(outcome.output.find('\n'), outcome.output.size() - 1) << outcome.output;
  };
  const auto whole = fs::file_size(weights);
  for (const auto size :
       {whole - 1, whole / 2, decltype(whole){20}, decltype(whole){3}, decltype(whole){0}}) {
    fs::resize_file(weights, size);
    expect_one_line();
  }
  // A header length of 2^63.
  folder.file("m/model.safetensors", std::string("\0\0\0\0\0\0\0\x80{}", 10));
  expect_one_line();
  fs::remove(weights);
  expect_refusal("inspect " + model, weights + ": cannot open: No such file or directory");
}

}  // namespace convseq
