// Commands and flags: unknown, missing, given twice, out of their range.
#include <fmt/format.h>

#include "bad_input.h"

namespace convseq::testing {
namespace {

struct Flag {
  std::string name;
  std::string value;
};

// Each flag with its value behind one command; the message names the flag and the value.
void add(std::vector<BadInput>& cases, const std::string& command, const std::vector<Flag>& flags) {
  for (const auto& [name, value] : flags) {
    cases.push_back({command + " " + name + " " + value, {name, value}});
  }
}

}  // namespace

std::vector<BadInput> bad_commands() {
  return {
      {"", {"command"}},
      {"pretain out", {"pretain", "pretrain"}},
      {"predict model", {"predict"}},
      {"-x", {"-x"}},
      {"--verson", {"--verson", "--version"}},
      {"bench", {"ops", "step", "length", "decode"}},
      {"bench all", {"all", "ops"}},
      {"tokenizer", {"train", "encode", "decode"}},
      {"tokenizer trian corpus", {"trian", "train"}},
      {"synth", {"corpus", "tasks"}},
      {"synth task out", {"task", "tasks"}},
      {"help nonsense", {"nonsense"}},
      {"help bench nonsense", {"nonsense"}},
      {"version extra", {"extra"}},
      {"version --jsn", {"--jsn", "--json"}},
      {"man extra", {"extra"}},
      {"completion", {"SHELL"}},
      {"completion tcsh", {"tcsh", "bash"}},
      {"pretrain", {"OUT"}},
      {"pretrain out --tokenizer tokenizer", {"--corpus"}},
      {"pretrain out --corpus corpus", {"--tokenizer"}},
      {"pretrain out extra --corpus corpus --tokenizer tokenizer", {"extra"}},
      {"pretrain out --corpus corpus --tokenizer tokenizer --batches 3", {"--batches", "--batch"}},
      {"pretrain out --corpus corpus --tokenizer tokenizer --batch", {"--batch"}},
      {"pretrain out --corpus corpus --tokenizer tokenizer --batch 2 --batch 4", {"--batch"}},
      {"pretrain out --corpus corpus --tokenizer tokenizer --fresh --resume", {"--fresh"}},
      {"finetune", {"OUT"}},
      {"finetune out tasks/pair_1/task.json", {"--from", "--model"}},
      {"finetune out tasks/pair_1/task.json --model paper-light-tiny", {"--tokenizer"}},
      {"finetune out --from model", {"TASK"}},
      {"finetune out a.csv b.csv --from model", {"b.csv"}},
      {"evaluate", {"MODEL"}},
      {"evaluate model", {"TASK"}},
      {"tokenizer train corpus", {"--out"}},
      {"tokenizer encode", {"MODEL"}},
      {"tokenize corpus out", {"--tokenizer"}},
      {"tokenize corpus", {"OUT"}},
      {"task", {"TASK"}},
      {"inspect", {"model"}},
      {"convert hf out", {"--from"}},
      {"convert --from onnx hf out", {"onnx", "hf-t5"}},
      {"convert --from hf-t5 hf", {"OUT"}},
      {"bench step --longest 3", {"--longest", "--profile"}},
      {"task good.csv --source '{text}'", {"--source", "--target"}},
      {"version > /dev/full", {"standard output", "No space"}, 1},
      {"man > /dev/full", {"standard output", "No space"}, 1},
      {"completion bash > /dev/full", {"standard output", "No space"}, 1},
      {"pretrain --help > /dev/full", {"standard output", "No space"}, 1},
      {"inspect paper-light-tiny --json > /dev/full", {"standard output", "No space"}, 1},
      {"tokenizer encode tokenizer lines.txt > /dev/full", {"standard output", "No space"}, 1},
  };
}

std::vector<BadInput> bad_training_flags() {
  std::vector<BadInput> cases;
  add(cases, "pretrain out --corpus corpus --tokenizer tokenizer",
      {{"--batch", "0"},
       {"--batch", "1.5"},
       {"--source", "4611686018427387904"},
       {"--source", "0"},
       {"--target", "-1"},
       {"--target", "99999999999999999999"},
       {"--noise", "nan"},
       {"--noise", "1.5"},
       {"--noise", "0"},
       {"--span", "0"},
       {"--span", "inf"},
       {"--threads", "0"},
       {"--threads", "1000000"},
       {"--steps", "0"},
       {"--steps", "99999999999999999999"},
       {"--steps", "ten"},
       {"--steps", "1e3"},
       {"--steps", "''"},
       {"--tokens", "-5"},
       {"--minutes", "0"},
       {"--minutes", "1e300"},
       {"--patience", "-1"},
       {"--lr", "0"},
       {"--lr", "nan"},
       {"--lr", "1e400"},
       {"--warmup", "-1"},
       {"--decay", "4611686018427387904"},
       {"--weight-decay", "-0.1"},
       {"--clip", "0"},
       {"--label-smoothing", "1"},
       {"--z-loss", "-inf"},
       {"--micro-batch", "-1"},
       {"--seed", "-1"},
       {"--seed", "18446744073709551616"},
       {"--save-every", "0"},
       {"--validate-every", "-1"},
       {"--log-every", "0"},
       {"--keep", "0"},
       {"--max-memory", "lots"},
       {"--max-memory", "0"},
       {"--max-memory", "-1G"},
       {"--precision", "fp16"},
       {"--device", "tpu"},
       {"--optimizer", "sgd"},
       {"--schedule", "step"},
       {"--set", "d_model"},
       {"--model", "paper-light-huge"}});
  add(cases, "finetune out tasks/pair_1/task.json --from model",
      {{"--epochs", "1e300"},
       {"--epochs", "inf"},
       {"--epochs", "0"},
       {"--held-out", "1"},
       {"--held-out", "nan"},
       {"--train-limit", "-1"},
       {"--validation-limit", "-3"},
       {"--max-source-tokens", "4611686018427387904"},
       {"--max-target-tokens", "-1"},
       {"--answer", "head"},
       {"--metrics", "bleu"},
       {"--positive-label", "perhaps"},
       {"--on-bad-line", "ignore"},
       {"--class-weights", "heavy"},
       {"--class-weights", "perhaps=2"},
       {"--class-weights", "yes=nan"},
       {"--class-weights", "yes=-1"},
       {"--set", "vocab_size=100"},
       {"--tokenizer", "nowhere"}});
  for (BadInput& each : cases) {
    for (std::string& text : each.named) {
      if (text == "''") text = "--steps";
    }
  }
  return cases;
}

std::vector<BadInput> bad_flags() {
  std::vector<BadInput> cases;
  add(cases, "evaluate model tasks/pair_1/task.json",
      {{"--limit", "-1"},
       {"--batch", "0"},
       {"--batch", "4611686018427387904"},
       {"--resamples", "-1"},
       {"--resamples", "99999999999999999999"},
       {"--answer", "pooled"},
       {"--answer", "head"},
       {"--split", "nope"},
       {"--device", "gpu"}});
  add(cases, "tokenizer train corpus --out out",
      {{"--vocabulary", "0"},
       {"--vocabulary", "100"},
       {"--vocabulary", "30000"},
       {"--vocabulary", "99999999999"},
       {"--character-coverage", "0"},
       {"--character-coverage", "2"},
       {"--character-coverage", "nan"},
       {"--lines", "0"},
       {"--seed", "x"},
       {"--model", "word"}});
  add(cases, "tokenize corpus out --tokenizer tokenizer",
      {{"--threads", "0"},
       {"--threads", "100000"},
       {"--shard-tokens", "0"},
       {"--shard-tokens", "4611686018427387904"},
       {"--on-bad-line", "delete"}});
  add(cases, "task tasks/pair_1/task.json",
      {{"--examples", "-1"}, {"--split", "nope"}, {"--tokenizer", "nowhere"}, {"--labels", "a,b"}});
  add(cases, "inspect paper-light-tiny",
      {{"--source", "0"}, {"--source", "1048577"}, {"--target", "abc"}});
  add(cases, "synth corpus out",
      {{"--documents", "0"},
       {"--documents", "99999999999999999999"},
       {"--validation-documents", "-1"},
       {"--shards", "0"},
       {"--shards", "1000000000"},
       {"--seed", "-1"}});
  add(cases, "synth tasks out",
      {{"--family", "poems"},
       {"--train", "0"},
       {"--validation", "-1"},
       {"--shown-words", "2"},
       {"--sentences", "-1"},
       {"--windows", "-2"},
       {"--distances", "x"},
       {"--cue-words", "0"},
       {"--depth", "0"},
       {"--places", "0"},
       {"--comparisons", "0"},
       {"--facts", "0"}});
  add(cases, "bench ops --device cpu",
      {{"--ops", "fft"},
       {"--kernels", "0"},
       {"--batch", "-1"},
       {"--time", "0"},
       {"--channels", "0"},
       {"--heads", "5"},
       {"--dilation", "0"},
       {"--rounds", "0"},
       {"--cache-mb", "-1"},
       {"--precision", "int8"}});
  add(cases, "bench step --device cpu",
      {{"--models", "nope"},
       {"--padding", "1.5"},
       {"--round-ms", "0"},
       {"--tokens", "0"},
       {"--source", "-1"},
       {"--set", "no_such_key=1"},
       {"--peer", "nowhere.jsonl"},
       {"--peer", "not.json"}});
  add(cases, "bench length --device cpu", {{"--lengths", "64,0"}, {"--lengths", "''"}});
  add(cases, "bench decode --device cpu", {{"--positions", "64,16"}, {"--source", "0"}});
  cases.push_back({"bench decode --positions 0 --device cpu", {"--positions", "0"}});
  for (BadInput& each : cases) {
    for (std::string& text : each.named) {
      if (text == "''") text = "--lengths";
      if (text == "64,0") text = "0";
    }
  }
  return cases;
}

}  // namespace convseq::testing
