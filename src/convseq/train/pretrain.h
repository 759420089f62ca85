#pragma once

#include "convseq/data/corpus/corpus_stream.h"
#include "convseq/data/objective/make_objective.h"
#include "convseq/train/training_run.h"

namespace convseq {

struct PretrainOptions : TrainingOptions {
  std::filesystem::path tokenizer;
  ModelConfig model;
  CorpusStreamOptions corpus;  // its seed and rank are the run's
  ObjectiveOptions objective;
  std::string validation_corpus;  // empty: none
  int64_t validation_batches = 8;
};

// Pre-training: from a config, corpora and an objective to a model folder at `out`. The best
// validation is that of the lowest loss; the folder holds the last weights, its best/ those.
TrainingSummary pretrain(const PretrainOptions& options, Communicator& communicator);
TrainingSummary pretrain(const PretrainOptions& options);  // one process

}  // namespace convseq
