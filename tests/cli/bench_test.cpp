#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "convseq/base/file/json_file.h"
#include "convseq/spec/mixer_kind.h"
#include "program.h"
#include "temp_folder.h"

namespace convseq {
namespace fs = std::filesystem;
using testing::run_convseq;
using testing::TempFolder;

namespace {

const std::string kSmall =
    " --set vocab_size=100 --set d_model=16 --set d_ff=32 --set heads=2"
    " --set d_kv=8 --set conv_heads=2";

struct Measured {
  std::string table;
  Json json;
  std::set<std::string> names;
};

// Runs `convseq bench <arguments>` on the CPU with a JSON file, and checks that file's form.
Measured measure(const std::string& arguments, const std::string& device = " --device cpu") {
  const TempFolder folder;
  const std::string file = (folder / "rows.json").string();
  const auto outcome = run_convseq("bench " + arguments + device + " --quiet --json " + file);
  EXPECT_EQ(outcome.exit_code, 0) << outcome.output;
  Measured measured{.table = outcome.output, .json = read_json_file(file), .names = {}};
  for (const char* key : {"date", "commit", "command", "machine"}) {
    EXPECT_FALSE(measured.json.at(key).get<std::string>().empty()) << key;
  }
  for (const Json& row : measured.json.at("results")) {
    for (const char* key : {"floor", "peer", "peer_value", "ratio"}) EXPECT_TRUE(row.contains(key));
    EXPECT_GT(row.at("value").get<double>(), 0) << row.dump();
    EXPECT_FALSE(row.at("unit").get<std::string>().empty());
    EXPECT_TRUE(measured.names.insert(row.at("name").get<std::string>()).second) << row.dump();
  }
  return measured;
}

void expect_names(const Measured& measured, const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    EXPECT_TRUE(measured.names.contains(name)) << name << " is not among the rows";
  }
}

Json row(const Measured& measured, const std::string& name) {
  for (const Json& each : measured.json.at("results")) {
    if (each.at("name") == name) return each;
  }
  return {};
}

void expect_refusal(const std::string& arguments, const std::string& part) {
  const auto outcome = run_convseq("bench " + arguments + " --quiet");
  EXPECT_EQ(outcome.exit_code, 2) << outcome.output;
  EXPECT_EQ(outcome.output.find("convseq: "), 0u) << outcome.output;
  EXPECT_NE(outcome.output.find(part), outcome.output.npos) << outcome.output;
}

}  // namespace

TEST(Bench, MeasuresTheConvolutions) {
  const Measured ops = measure(
      "ops --batch 2 --time 16 --channels 12 --heads 3 --kernels 3,4 --rounds 1 --cache-mb 1");
  for (const std::string op : {"light", "glu", "dynamic", "depthwise", "dilated"}) {
    expect_names(ops, {op + "_conv_forward_k3", op + "_conv_backward_k3", op + "_conv_forward_k4",
                       op + "_conv_backward_k4"});
  }
  expect_names(ops, {"copy_bandwidth", "light_conv_forward_backward_k3"});
  EXPECT_NE(ops.table.find("light_conv_forward_k3"), ops.table.npos);
  EXPECT_EQ(row(ops, "light_conv_forward_k3")["peer"], "libtorch depthwise conv1d");
  EXPECT_TRUE(row(ops, "dynamic_conv_forward_k3")["peer"].is_null());
  EXPECT_NE(ops.json["command"].get<std::string>().find("convseq bench ops --batch 2"),
            std::string::npos);
}

TEST(Bench, MeasuresConvolutionsInBf16) {
  const Measured ops = measure(
      "ops --ops glu_conv --batch 1 --time 8 --channels 8 --heads 2 --rounds 1 --cache-mb 1 "
      "--precision bf16");
  expect_names(ops, {"glu_conv_forward_k7", "glu_conv_backward_k7"});
}

TEST(Bench, MeasuresATrainingStepAgainstAPeer) {
  const TempFolder folder;
  const auto peer = folder.file(
      "peer.jsonl",
      R"({"name":"train_step_light_16","mode":"eager","tokens_per_second":1,"ms":1,"peak_gib":1})");
  const Measured step = measure(
      "step --source 16 --target 4 --tokens 32 --rounds 1 --round-ms 1 --detail --padding "
      "0.1 --peer " +
      peer.string() + kSmall);
  expect_names(step, {"train_step_light_16", "train_step_dynamic_16", "train_step_attention_16",
                      "train_step_light_16_ms", "train_step_light_16_examples",
                      "train_step_light_16_utilisation", "train_step_light_16_peak_memory",
                      "train_step_light_16_matmuls_ms", "train_step_light_16_rest_floor_ms"});
  EXPECT_EQ(row(step, "train_step_light_16")["peer"], "PyTorch eager");
  EXPECT_TRUE(row(step, "train_step_dynamic_16")["peer"].is_null());
  EXPECT_NE(step.table.find("matmuls alone, forward"), step.table.npos);
}

TEST(Bench, MeasuresAModelOnACpuAgainstAPeer) {
  const TempFolder folder;
  const auto peer = folder.file(
      "peers.jsonl",
      R"({"peer": "ONNX Runtime", "model": "transformer", "precision": "int8", "d_model": 16, )"
      R"("layers": 2, "threads": 1, "batch": 2, "length": 8, "ms": 1, "examples_per_second": 9})");
  const std::string arguments =
      "cpu --model paper-light-tiny --precision fp32,bf16 --lengths 8 --batches 2,1 --sequences 2 "
      "--source 6 --new-tokens 3 --seconds 0 --peer " +
      peer.string() + kSmall;
  const Measured cpu = measure(arguments + " --threads 1", "");
  expect_names(cpu, {"cpu_light_fp32_8_batch_2", "cpu_light_bf16_8_batch_2",
                     "cpu_light_fp32_8_batch_1", "generate_light_fp32_batch_2"});
  EXPECT_EQ(row(cpu, "cpu_light_fp32_8_batch_2")["peer"], "ONNX Runtime int8");
  EXPECT_TRUE(row(cpu, "cpu_light_fp32_8_batch_1")["peer"].is_null());
  expect_refusal(arguments + " --threads 2", "ONNX Runtime int8 ran on 1 threads; use --threads 1");
}

TEST(Bench, MeasuresFinetuningAgainstAPeer) {
  const TempFolder folder;
  const auto peer =
      folder.file("peer.jsonl", R"({"d_model": 16, "mode": "eager", "steps_per_second": 1})");
  const Measured finetune =
      measure("finetune --batch 4 --steps 3 --rounds 1 --peer " + peer.string() + kSmall);
  for (const std::string mixer : {"light", "attention"}) {
    const std::string name = "finetune_" + mixer + "_16";
    expect_names(finetune, {name, name + "_examples", name + "_ms", name + "_padding",
                            name + "_shapes", name + "_warm_up", name + "_peak_memory"});
    EXPECT_EQ(row(finetune, name)["peer"], "Hugging Face T5, eager");
    EXPECT_GT(row(finetune, name + "_ms")["ratio"].get<double>(), 0);
  }
  EXPECT_NE(finetune.table.find("steps/s"), finetune.table.npos);
}

TEST(Bench, WritesTheShapesOfFinetuningForItsPeer) {
  const TempFolder folder;
  const std::string file = (folder / "shapes.json").string();
  EXPECT_EQ(
      run_convseq("bench finetune --batch 4 --steps 20 --max-shapes 2 --shapes " + file).exit_code,
      0);
  const Json shapes = read_json_file(file);
  EXPECT_EQ(shapes.at("batches").size(), 20u);
  EXPECT_LE(std::set<Json>(shapes.at("padded").begin(), shapes.at("padded").end()).size(), 2u);
}

TEST(Bench, MeasuresSpeedAgainstLengthForEveryMixer) {
  const Measured length = measure("length --lengths 8,16 --tokens 16 --rounds 1" + kSmall);
  for (const auto& each : kEnumNames<MixerKind>) {
    const std::string mixer(each.second);
    for (const std::string at : {"_8", "_16"}) {
      expect_names(length,
                   {"encoder_" + mixer + at, "step_" + mixer + at,
                    "step_" + mixer + at + "_examples", "step_" + mixer + at + "_flops",
                    "step_" + mixer + at + "_utilisation", "step_" + mixer + at + "_peak_memory"});
    }
  }
  EXPECT_NE(length.table.find("encoder alone"), length.table.npos);
}

TEST(Bench, MeasuresDecodingAndItsState) {
  const Measured decode =
      measure("decode --positions 4,12 --source 8 --batch 2 --set kernel_sizes=3" + kSmall);
  expect_names(decode, {"decode_attention_4", "decode_light_12", "decode_dynamic_12"});
  // Keys and values of 2 layers grow; a ring of 2 rows does not.
  EXPECT_EQ(row(decode, "decode_attention_4_state")["value"], 2 * 2 * 4 * 16 * 4);
  EXPECT_EQ(row(decode, "decode_attention_12_state")["value"], 2 * 2 * 12 * 16 * 4);
  EXPECT_EQ(row(decode, "decode_light_4_state")["value"], 2 * 2 * 16 * 4);
  EXPECT_EQ(row(decode, "decode_light_12_state")["value"], 2 * 2 * 16 * 4);
}

TEST(Bench, PrintsJsonInsteadOfATable) {
  const auto outcome = run_convseq(
      "bench decode --device cpu --model paper-light-tiny --positions 2 --source 4 --quiet "
      "--json -");
  ASSERT_EQ(outcome.exit_code, 0) << outcome.output;
  EXPECT_EQ(Json::parse(outcome.output).at("results").at(0).at("name"), "decode_light_2");
}

TEST(Bench, RefusesAPlotWithoutGnuplotBeforeItMeasures) {
  const TempFolder folder;
  const auto outcome = testing::run_shell("PATH=" + folder.path().string() +
                                          " " CONVSEQ_PROGRAM " bench length --quiet --plot " +
                                          (folder / "x.svg").string());
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_EQ(outcome.output,
            "convseq: --plot: gnuplot is not installed; install it (Debian and Ubuntu: apt-get "
            "install gnuplot-nox), or omit --plot\n");
}

TEST(Bench, RefusesWhatItCannotMeasure) {
  expect_refusal("ops --channels 10 --heads 3", "10 channels do not divide into 3 heads");
  expect_refusal("ops --ops blur", "--ops: blur; allowed: light_conv, glu_conv");
  expect_refusal("ops --kernels 0", "--kernels");
  expect_refusal("step --model no-such-model",
                 "no-such-model: no such file, model folder or preset");
  expect_refusal("step --models paper-light-tiny,paper-light-mini", "two with mixer light");
  expect_refusal("step --peer /nowhere/peer.jsonl", "/nowhere/peer.jsonl: cannot open");
  expect_refusal("finetune --profile --device cpu", "--profile: needs a GPU");
  expect_refusal("length --json /nowhere/rows.json", "/nowhere/rows.json");
  expect_refusal("decode --positions 8,4", "--positions: 4 after 8");
  expect_refusal("", "--quiet is not an option of convseq bench");
}

TEST(Bench, WritesRowsToWhatIsNoRegularFile) {
  const std::string decode =
      "bench decode --device cpu --model paper-light-tiny --positions 2 --source 4 --quiet --json ";
  const auto piped = run_convseq(decode + "/dev/fd/3 3>&1 > /dev/null");
  ASSERT_EQ(piped.exit_code, 0) << piped.output;
  EXPECT_EQ(Json::parse(piped.output).at("results").at(0).at("name"), "decode_light_2");

  const TempFolder folder;
  fs::create_symlink("real.json", folder / "link.json");
  EXPECT_EQ(run_convseq(decode + (folder / "link.json").string()).exit_code, 0);
  EXPECT_TRUE(fs::is_symlink(folder / "link.json"));
  EXPECT_EQ(read_json_file(folder / "real.json").at("results").at(0).at("name"), "decode_light_2");
}

TEST(Bench, RefusesSizesBeyondTheMemory) {
  expect_refusal("ops --device cpu --batch 1000000000 --max-memory 4G", "or --max-memory ");
  expect_refusal("step --device cpu --tokens 1000000000 --max-memory 4G", "or --max-memory ");
}

// --foreground: without it timeout signals twice, and the second one ends a program at once.
TEST(Bench, EndsCleanlyOnASignal) {
  const TempFolder folder;
  const std::string file = (folder / "rows.json").string();
  const auto outcome = testing::run_shell("timeout --foreground -s INT 4 " CONVSEQ_PROGRAM
                                          " bench length --device cpu --quiet --rounds 9 --json " +
                                          file);
  EXPECT_NE(outcome.output.find("convseq: bench length: stopped; no file was written\n"),
            outcome.output.npos)
      << outcome.output;
  EXPECT_TRUE(fs::is_empty(folder.path()));
}

TEST(Bench, HelpsWithAnExample) {
  for (const std::string command : {"ops", "step", "finetune", "length", "decode"}) {
    const auto outcome = run_convseq("bench " + command + " --help");
    EXPECT_EQ(outcome.exit_code, 0);
    EXPECT_NE(outcome.output.find("convseq bench " + command), outcome.output.npos);
    EXPECT_NE(outcome.output.find("Example"), outcome.output.npos);
  }
}

}  // namespace convseq
