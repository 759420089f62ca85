#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "convseq/base/file/json_file.h"
#include "convseq/study/example_outcomes.h"

namespace convseq {

// JSON has no NaN; it is written as null.
double number_of(const Json& json);

enum class CellKind { Synth, Tokenizer, Shards, Pretrain, Finetune };
template <>
inline constexpr auto kEnumNames<CellKind> = std::to_array<EnumName<CellKind>>({
    {CellKind::Synth, "synth"},          // a synthetic corpus and tasks
    {CellKind::Tokenizer, "tokenizer"},  // trained from a corpus
    {CellKind::Shards, "shards"},        // a tokenized corpus
    {CellKind::Pretrain, "pretrain"},    // a model
    {CellKind::Finetune, "finetune"},    // the scores of one fine-tuning run
});

enum class Start { Scratch, Pretrained, Self };
template <>
inline constexpr auto kEnumNames<Start> = std::to_array<EnumName<Start>>({
    {Start::Scratch, "scratch"},        // random weights
    {Start::Pretrained, "pretrained"},  // pre-trained on a corpus of the study
    {Start::Self, "self"},              // pre-trained on the training text of the task
});

// The evaluation of one split.
struct SplitResult {
  int64_t examples = 0;
  std::vector<std::pair<std::string, double>> metrics =
      {};                                                 // the first one is the task's main metric
  std::map<std::string, double> categories = {};          // the main metric by category
  std::map<std::string, int64_t> category_examples = {};  // examples per category
  bool collapsed = false;                                 // one constant answer
  ExampleOutcomes outcomes = {};                          // of test splits

  double metric(const std::string& name) const;  // an Error if it is not there
  bool has_metric(const std::string& name) const;
  bool operator==(const SplitResult&) const = default;
};

struct CurvePoint {
  int64_t step = 0;
  double value = 0;
  bool operator==(const CurvePoint&) const = default;
};
using Curve = std::vector<CurvePoint>;

// At most `most` points of a curve, evenly spread, with the first and the last one.
Curve thinned(const Curve& curve, size_t most = 100);

// One cell of a study: what was computed, from what, and the scores. One line of scores.jsonl.
struct CellResult {
  std::string id;  // SHA-256 of `inputs`, 32 hex digits
  CellKind kind = CellKind::Finetune;
  std::vector<std::string> parts = {};  // of the study file, that use this cell
  std::string model = {};               // name in the study file
  Start start = Start::Scratch;
  std::string task = {};    // name in the study file; of Start::Self also in Pretrain
  std::string corpus = {};  // of Pretrain
  double learning_rate = 0;
  int64_t seed = 0;              // of fine-tuning, or of the pre-training
  int64_t pretraining_seed = 0;  // of Finetune; 0: from scratch
  bool chosen = false;           // Finetune: at the learning rate that was chosen on validation
  Json inputs = nullptr;         // what the id is the hash of

  std::string failed = {};  // the message of a cell that failed; then nothing below is set

  int64_t steps = 0;
  int64_t source_tokens = 0;
  double seconds = 0;        // of training, with its validations
  double total_seconds = 0;  // with reading the data and the final evaluation
  int64_t parameters = 0;
  double flops = 0;                                // of training
  std::map<std::string, SplitResult> splits = {};  // Finetune; "validation", "test", …
  double nll = 0;                                  // Pretrain: of the validation corpus, per token
  Curve loss = {};                                 // of training
  Curve validation = {};                           // Pretrain: NLL; Finetune: the main metric

  std::string commit = {}, device = {}, precision = {};
  std::string finished = {};  // "2026-11-18T05:10:07Z"

  Json to_json() const;
  static CellResult from_json(const JsonObject& json);
  bool operator==(const CellResult&) const = default;
};

// By part, kind, model, start, task, learning rate, seeds.
void sort_results(std::vector<CellResult>& results);

// One JSON object per line.
std::vector<CellResult> read_scores(const std::filesystem::path& path);
void write_scores(const std::filesystem::path& path, std::vector<CellResult> results);

}  // namespace convseq
