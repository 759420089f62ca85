#pragma once

#include "convseq/data/corpus/corpus_stream.h"
#include "convseq/data/objective/make_objective.h"
#include "convseq/train/training_run.h"

namespace convseq {

struct PretrainOptions : TrainingOptions {
  std::filesystem::path tokenizer;
  ModelConfig model;
  CorpusStreamOptions corpus;  // seed and rank are set by the run
  ObjectiveOptions objective;
  std::string validation_corpus;  // empty: none
  int64_t validation_batches = 8;
};

// Pre-trains a model from a config, corpora and an objective, and writes a model folder to `out`
// with the last weights. `out`/best holds the weights with the lowest validation loss.
TrainingSummary pretrain(const PretrainOptions& options, Communicator& communicator);
TrainingSummary pretrain(const PretrainOptions& options);  // one process

}  // namespace convseq
