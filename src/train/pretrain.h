#pragma once

#include <filesystem>
#include <functional>

#include "data/corpus_stream.h"
#include "data/span_corruption.h"
#include "train/schedule.h"
#include "train/train_step.h"

namespace convseq {

struct PretrainOptions {
  std::filesystem::path out;
  std::filesystem::path tokenizer;
  ModelConfig model;
  CorpusStreamOptions corpus;
  SpanCorruptionOptions objective;
  std::string validation_corpus;  // empty: none
  int64_t validation_batches = 8;
  OptimizerOptions optimizer;
  ScheduleOptions schedule{
      .kind = ScheduleKind::Cosine, .learning_rate = 2e-2, .warmup_steps = 100};
  TrainStepOptions step;
  torch::Device device = torch::kCPU;
  torch::Dtype compute = torch::kFloat32;
  uint64_t seed = 1;
  int64_t steps = 1000;
  int64_t micro_batch_rows = 0;  // rows computed at a time; 0: the whole batch
  int64_t log_every = 10;
  int64_t validate_every = 500;
  int64_t save_every = 500;
  int64_t keep = 2;
  int64_t most_skipped_in_a_row = 10;
  bool resume = true;
  bool progress = true;
  std::function<bool()> stop = [] { return false; };  // asked after each step: checkpoint and end
};

struct PretrainSummary {
  int64_t step = 0;
  int64_t source_tokens = 0;
  int64_t skipped_steps = 0;
  double loss = 0;  // of the last step
  std::optional<double> best_validation;
  bool finished = false;  // false: stopped before its last step; the same call goes on
};

// Span-denoising pre-training: from a config and corpora to a model folder at `out`, with
// checkpoints, metrics.jsonl and TensorBoard events beside it. Called again it goes on from the
// newest whole checkpoint, on a CPU bit for bit.
PretrainSummary pretrain(const PretrainOptions& options);

}  // namespace convseq
