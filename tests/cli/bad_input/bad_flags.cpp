// Commands and flags: unknown, missing, given twice, out of their range.

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
      {"--verson", {"--verson", "--version"}},
      {"bench", {"ops", "step", "finetune", "length", "decode"}},
      {"tokenizer", {"train", "encode", "decode"}},
      {"tokenizer trian corpus", {"trian", "train"}},
      {"synth", {"corpus", "tasks"}},
      {"synth task out", {"task", "tasks"}},
      {"help nonsense", {"nonsense"}},
      {"version extra", {"extra"}},
      {"man extra", {"extra"}},
      {"completion", {"SHELL"}},
      {"completion tcsh", {"tcsh", "bash"}},
      {"pretrain", {"OUT"}},
      {"pretrain out --tokenizer tokenizer", {"--corpus"}},
      {"pretrain out --corpus corpus", {"--tokenizer"}},
      {"pretrain out --corpus corpus --tokenizer tokenizer --batches 3", {"--batches", "--batch"}},
      {"pretrain out --corpus corpus --tokenizer tokenizer --batch", {"--batch"}},
      {"pretrain out --corpus corpus --tokenizer tokenizer --batch 2 --batch 4", {"--batch"}},
      {"pretrain out --corpus corpus --tokenizer tokenizer --fresh --resume", {"--fresh"}},
      {"finetune out tasks/pair_1/task.json", {"--from", "--model"}},
      {"finetune out --from model", {"name a task"}},
      {"finetune out a.csv b.csv --from model", {"b.csv"}},
      {"evaluate model", {"name a task"}},
      {"tokenize corpus out", {"--tokenizer"}},
      {"task", {"name a task"}},
      {"convert hf out", {"--from"}},
      {"convert --from onnx hf out", {"onnx", "hf-t5"}},
      {"bench step --longest 3", {"--longest", "--profile"}},
      {"task good.csv --source '{text}'", {"--source", "--target"}},
      {"version > /dev/full", {"standard output", "No space"}, 1},
      {"inspect paper-light-tiny --json > /dev/full", {"standard output", "No space"}, 1},
      {"tokenizer encode tokenizer lines.txt > /dev/full", {"standard output", "No space"}, 1},
  };
}

std::vector<BadInput> bad_training_flags() {
  std::vector<BadInput> cases;
  add(cases, "pretrain out --corpus corpus --tokenizer tokenizer",
      {{"--batch", "0"},         {"--source", "4611686018427387904"},
       {"--source", "0"},        {"--target", "99999999999999999999"},
       {"--noise", "1.5"},       {"--span", "0"},
       {"--threads", "0"},       {"--threads", "1000000"},
       {"--steps", "0"},         {"--steps", "99999999999999999999"},
       {"--steps", "''"},        {"--tokens", "-5"},
       {"--minutes", "1e300"},   {"--patience", "-1"},
       {"--lr", "nan"},          {"--weight-decay", "-0.1"},
       {"--clip", "0"},          {"--label-smoothing", "1"},
       {"--z-loss", "-inf"},     {"--micro-batch", "-1"},
       {"--seed", "-1"},         {"--keep", "0"},
       {"--max-memory", "lots"}, {"--precision", "fp16"},
       {"--device", "tpu"},      {"--optimizer", "sgd"},
       {"--set", "d_model"},     {"--objective", "poetry"},
       {"--min-prefix", "1"}});
  add(cases, "finetune out tasks/pair_1/task.json --from model",
      {{"--epochs", "1e300"},
       {"--epochs", "0"},
       {"--held-out", "1"},
       {"--train-limit", "-1"},
       {"--max-target-tokens", "-1"},
       {"--answer", "head"},
       {"--positive-label", "perhaps"},
       {"--class-weights", "perhaps=2"},
       {"--class-weights", "yes=nan"},
       {"--class-weights", "yes=-1"}});
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
       {"--resamples", "99999999999999999999"},
       {"--answer", "pooled"},
       {"--answer", "head"},
       {"--device", "gpu"}});
  add(cases, "tokenizer train corpus --out out",
      {{"--vocabulary", "0"},
       {"--vocabulary", "30000"},
       {"--vocabulary", "99999999999"},
       {"--character-coverage", "nan"},
       {"--lines", "0"},
       {"--model", "word"}});
  add(cases, "tokenize corpus out --tokenizer tokenizer",
      {{"--threads", "0"},
       {"--shard-tokens", "0"},
       {"--shard-tokens", "4611686018427387904"},
       {"--on-bad-line", "delete"}});
  add(cases, "task tasks/pair_1/task.json", {{"--examples", "-1"}});
  add(cases, "inspect paper-light-tiny",
      {{"--source", "0"}, {"--source", "1048577"}, {"--target", "abc"}});
  add(cases, "synth corpus out",
      {{"--documents", "0"},
       {"--validation-documents", "-1"},
       {"--shards", "0"},
       {"--seed", "-1"}});
  add(cases, "synth tasks out",
      {{"--family", "poems"},
       {"--train", "0"},
       {"--shown-words", "2"},
       {"--distances", "x"},
       {"--depth", "-1"},
       {"--places", "-1"},
       {"--facts", "0"}});
  add(cases, "bench ops --device cpu",
      {{"--ops", "fft"},
       {"--kernels", "0"},
       {"--time", "0"},
       {"--channels", "0"},
       {"--cache-mb", "-1"},
       {"--precision", "int8"}});
  add(cases, "bench step --device cpu",
      {{"--padding", "1.5"}, {"--tokens", "0"}, {"--source", "-1"}});
  add(cases, "bench finetune --device cpu",
      {{"--batch", "0"}, {"--steps", "0"}, {"--max-shapes", "0"}, {"--rounds", "0"}});
  add(cases, "bench length --device cpu", {{"--lengths", "64,0"}, {"--lengths", "''"}});
  add(cases, "bench decode --device cpu",
      {{"--positions", "0"},
       {"--source", "0"},
       {"--kv-cache-dtype", "int8"},
       {"--kv-cache-dtype", "int4"}});
  const std::vector<BadInput> by_value = {
      // the message names the value alone
      {"pretrain out --corpus corpus --tokenizer tokenizer --model nope", {"nope"}},
      {"finetune out tasks/pair_1/task.json --from model --set vocab_size=100",
       {"vocab_size", "100"}},
      {"finetune out tasks/pair_1/task.json --from model --tokenizer nowhere", {"nowhere"}},
      {"evaluate model tasks/pair_1/task.json --split nope", {"nope", "validation"}},
      {"evaluate model tasks/pair_1/task.json --device cpu --kv-cache-dtype int8",
       {"--kv-cache-dtype int8", "GPU"}},
      {"task tasks/pair_1/task.json --tokenizer nowhere", {"nowhere"}},
      {"bench ops --device cpu --heads 5", {"5 heads"}},
      {"bench step --device cpu --set no_such_key=1", {"no_such_key"}},
      {"bench step --device cpu --peer nowhere.jsonl", {"nowhere.jsonl"}},
      {"bench step --device cpu --peer not.json", {"not.json:1", "not JSON"}},
      {"bench finetune --device cpu --peer not.json", {"not.json:1", "not JSON"}},
      {"bench decode --device cpu --positions 64,16", {"--positions", "16 after 64"}},
  };
  cases.insert(cases.end(), by_value.begin(), by_value.end());
  for (BadInput& each : cases) {
    for (std::string& text : each.named) {
      if (text == "''") text = "--lengths";
      if (text == "64,0") text = "0";
    }
  }
  return cases;
}

}  // namespace convseq::testing
