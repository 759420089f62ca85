#pragma once

#include <string>
#include <variant>
#include <vector>

#include "convseq/study/result.h"
#include "convseq/study/settings.h"
#include "convseq/study/study_file.h"

namespace convseq {

// Raised by hand when the same inputs may give other results: all cells are then computed again.
inline constexpr int kNumericsVersion = 1;

// What a cell computes. Other cells are named by their ids.
struct SynthWork {
  StudySynth synth;
};
struct TokenizerWork {
  StudyTokenizer tokenizer;
  StudyCorpus corpus;
};
struct ShardsWork {
  std::string tokenizer;
  std::vector<std::string> patterns;  // of corpus files; or else the text of a task:
  StudyTask task;
  std::string split;
};
struct PretrainWork {
  PretrainSettings settings;
  ModelConfig model;  // its vocab_size is that of the tokenizer
  std::string tokenizer, train, validation;
};
struct FinetuneWork {
  FinetuneSettings settings;
  ModelConfig model;
  StudyTask task;
  std::string tokenizer;
  std::string pretrain;  // empty: from scratch
};
using CellWork = std::variant<SynthWork, TokenizerWork, ShardsWork, PretrainWork, FinetuneWork>;

// One piece of work of a study. Cells of the same inputs have the same id and are computed once.
struct Cell {
  CellResult label;                     // id, kind, names, inputs: what its result begins with
  std::vector<std::string> needs = {};  // ids of cells whose files it reads
  CellWork work = {};
  std::vector<int64_t> order = {};  // cells are run in this order
  // Whose cell it is: a pre-training that models share has the name of the first one.
  std::vector<std::string> models = {};

  const std::string& id() const { return label.id; }
  CellKind kind() const { return label.kind; }
  std::string name() const;  // "sst2 light pretrained lr=0.003 seed=2"
};

// The id of a cell: 32 hex digits that depend on the inputs and on kNumericsVersion.
std::string cell_id(CellKind kind, const Json& inputs, int numerics = kNumericsVersion);

}  // namespace convseq
