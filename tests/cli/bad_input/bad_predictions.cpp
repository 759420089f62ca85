// What predict and quantize read and write, and the calibration that evaluate stores.
#include "bad_input.h"

namespace convseq::testing {

std::vector<BadInput> bad_predictions() {
  const std::string lines = " lines.txt --device cpu --quiet ", pairs = " pairs.jsonl --device cpu";
  const std::string predict = "predict model" + lines;
  std::vector<BadInput> cases = {
      {"predict", {"MODEL"}},
      {"predict nowhere" + lines, {"nowhere", "model folder"}},
      {"predict lines.txt" + lines, {"lines.txt", "model folder"}},
      {"predict model nowhere.txt --device cpu", {"nowhere.txt", "No such file"}},
      {"predict model loop --device cpu", {"loop"}},
      {"predict model corpus --device cpu", {"corpus", "folder"}},
      {"predict model good.csv --column body --device cpu", {"good.csv", "body", "text, label"}},
      {"predict tuned" + lines, {"lines.txt", "premise"}},
      {"predict tuned good.csv --device cpu", {"good.csv", "premise", "text, label"}},
      {predict + "--input-format parquet", {"--input-format", "parquet", "jsonl"}},
      {predict + "--output-format xml", {"--output-format", "xml", "tsv"}},
      {predict + "--source 'no field'", {"no field"}},
      {predict + "--source '{text'", {"{text"}},
      {predict + "--answer head", {"head"}},
      {predict + "--answer labels",
       {"model: ", "no list of labels", "fine-tune", "--answer greedy"}},
      {predict + "--threshold 0.5", {"--threshold"}},
      {"predict tuned" + pairs + " --threshold maybe=0.5", {"maybe", "yes"}},
      {"predict tuned" + pairs + " --threshold yes=2", {"--threshold", "2"}},
      {"predict tuned" + pairs + " --threshold yes=nan", {"--threshold", "nan"}},
      {"predict tuned" + pairs + " --threshold yes=0.5,no=0.5", {"2 thresholds"}},
      {"predict tuned" + pairs + " --threshold yes=0.5,yes=0.6", {"--threshold", "twice", "yes"}},
      {predict + "--shard 1/2/3", {"--shard", "1/2/3", "3/16"}},
      {predict + "--window 0", {"--window", "0"}},
      {predict + "--batch 0", {"--batch", "0"}},
      {predict + "--top -1", {"--top", "-1"}},
      {predict + "--shard 0/4", {"--shard", "0"}},
      {predict + "--shard 1/0", {"--shard", "0"}},
      {predict + "--shard 1/99999999999999999999", {"--shard", "99999999999999999999"}},
      {predict + "--threads 1000000", {"--threads", "1000000"}},
      {predict + "--max-memory 1K", {"--max-memory"}},
      {predict, {"CONVSEQ_CPU", "mmx"}, 2, "CONVSEQ_CPU=mmx"},
      {predict + "--out nowhere/out.jsonl", {"nowhere/out.jsonl"}},
      {predict + "--out lines.txt", {"lines.txt", "is read"}},
      {"predict model - --out lines.txt < lines.txt", {"lines.txt", "is read"}},
      {predict + "--out corpus", {"corpus", "folder"}},
      {predict + "--out loop", {"loop"}},
      {predict + "--out /dev/full", {"/dev/full", "No space left on device"}, 1},
      {predict + "> /dev/full", {"standard output", "No space left on device"}, 1},
      {"predict models/vocabulary" + lines, {"models/vocabulary"}},
      {"predict models/no-tokenizer" + lines, {"models/no-tokenizer", "tokenizer"}},
      {"predict models/cut-tokenizer" + lines, {"models/cut-tokenizer/spiece.model"}},
      {"predict models/bad-task" + lines, {"models/bad-task/task.json"}},
  };
  for (const auto& [name, named] : bad_weights()) {
    cases.push_back({"predict models/" + name + lines, named});
  }
  return cases;
}

std::vector<BadInput> bad_calibrations() {
  const std::vector<std::pair<std::string, std::vector<std::string>>> files = {
      {"text", {"not JSON"}},
      {"list", {"object"}},
      {"folder", {"folder"}},
      {"deep", {"100"}},
      {"unknown-key", {"temprature", "temperature"}},
      {"word", {"temperature", "\"hot\""}},
      {"nan", {"not JSON"}},
      {"overflow", {"not JSON"}},
      {"zero", {"temperature", "0"}},
      {"negative", {"temperature", "-1"}},
      {"thresholds-list", {"thresholds", "object"}},
      {"threshold-word", {"thresholds", "yes", "\"half\""}},
      {"threshold-null", {"thresholds", "yes", "null"}},
      {"threshold-range", {"thresholds", "yes", "1.5"}},
      {"unknown-label", {"perhaps", "yes, no"}},
      {"two-thresholds", {"2 thresholds"}},
  };
  std::vector<BadInput> cases;
  for (const auto& [name, part] : files) {
    std::vector<std::string> named = {"calibrated/" + name + "/calibration.json"};
    named.insert(named.end(), part.begin(), part.end());
    cases.push_back({"predict calibrated/" + name + " pairs.jsonl --device cpu", named});
    cases.push_back({"quantize calibrated/" + name + " out --int8 tasks/pair_1/task.json", named});
  }
  cases.push_back({"evaluate calibrated/unknown-label tasks/pair_1/task.json --device cpu",
                   {"calibrated/unknown-label/calibration.json", "perhaps", "--no-calibration"}});
  cases.push_back({"evaluate calibrated/nan tasks/pair_1/task.json --device cpu",
                   {"calibrated/nan/calibration.json", "not JSON"}});
  return cases;
}

std::vector<BadInput> bad_quantizations() {
  const std::string int8 = " out --int8 --quiet", task = " --task tasks/pair_1/task.json";
  std::vector<BadInput> cases = {
      {"quantize", {"MODEL"}},
      {"quantize model", {"OUT"}},
      {"quantize model out", {"--int8", "--bf16"}},
      {"quantize model out --int8 --bf16", {"--int8", "--bf16"}},
      {"quantize nowhere" + int8, {"nowhere", "model folder"}},
      {"quantize lines.txt" + int8, {"lines.txt"}},
      {"quantize model model --int8 --force", {"model", "is what the command reads"}},
      {"quantize model tuned --int8", {"tuned", "not empty"}},
      {"quantize model foreign --int8 --force", {"foreign", "notes.txt"}},
      {"quantize model lines.txt --int8", {"lines.txt"}},
      {"quantize model lines.txt/out --int8", {"lines.txt"}},
      {"quantize model loop --int8", {"loop"}},
      {"quantize model /dev/null --int8", {"/dev/null"}},
      {"quantize model '' --int8", {"output folder has no name"}},
      {"quantize model /proc/out --int8", {"/proc/out"}},
      {"quantize model" + int8 + " --task nowhere.json", {"nowhere.json"}},
      {"quantize model" + int8 + task + " --split dev", {"dev"}},
      {"quantize model" + int8 + task + " --limit -1", {"--limit", "-1"}},
      {"quantize model" + int8 + " > /dev/full",
       {"standard output", "No space left on device"},
       1,
       "",
       false,
       "out"},
  };
  for (const auto& [name, named] : bad_weights()) {
    cases.push_back({"quantize models/" + name + int8, named});
  }
  return cases;
}

std::vector<std::pair<std::string, std::vector<std::string>>> bad_weights() {
  return {
      {"no-config", {"models/no-config", "config.json"}},
      {"no-weights", {"models/no-weights/model.safetensors"}},
      {"cut-weights", {"models/cut-weights/model.safetensors"}},
      {"empty-weights", {"models/empty-weights/model.safetensors"}},
      {"long-header", {"models/long-header/model.safetensors"}},
      {"nan", {"models/nan/model.safetensors", "finite"}},
      {"shape", {"models/shape/model.safetensors", "embedding.weight", "[16, 512]"}},
      {"dtype", {"models/dtype/model.safetensors", "I32"}},
      {"missing", {"models/missing/model.safetensors", "embedding.weight"}},
      {"extra", {"models/extra/model.safetensors", "surplus"}},
      {"wide", {"models/wide/model.safetensors", "config wants"}},
  };
}

}  // namespace convseq::testing
