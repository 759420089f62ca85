#pragma once

#include <map>

#include "convseq/infer/task_answers.h"
#include "convseq/train/training_run.h"

namespace convseq {

enum class AnswerForm { Text, Pooled };
template <>
inline constexpr auto kEnumNames<AnswerForm> = std::to_array<EnumName<AnswerForm>>({
    {AnswerForm::Text, "text"},      // the decoder writes the label
    {AnswerForm::Pooled, "pooled"},  // a linear head on the encoder's mean; no decoder
});

struct FinetuneOptions : TrainingOptions {
  FinetuneOptions() {
    schedule = {
        .kind = ScheduleKind::Constant, .learning_rate = 5e-3, .warmup_steps = kUsualWarmup};
    limits = {};
    validate_every = 0;
  }

  Task task;
  TaskReaderOptions reader;
  ModelConfig model;
  std::filesystem::path tokenizer;  // of the model; a folder of a pre-trained one holds it
  std::filesystem::path from;       // a model folder with first weights; empty: from scratch
  bool freeze_encoder = false;
  AnswerForm form = AnswerForm::Text;

  int64_t batch_rows = 32;
  double epochs = 3;             // where no other limit is given
  int64_t train_limit = 0;       // the first so many examples; 0: all
  int64_t validation_limit = 0;  // likewise
  double held_out = 0.1;  // of the training split, where none is for validation; 0: no validation
  std::map<std::string, double> class_weights;  // by label, in the loss; the others 1
  bool balance_classes = false;                 // weights that make all labels count the same
};

struct FinetuneSummary {
  TrainingSummary training;
  std::map<std::string, RowTotals> rows;  // by split: how many were used, skipped, cut
  std::map<std::string, Report> reports;  // by split, of the model that was kept; once finished
  Json to_json() const;
};

// Teaches a model one task, keeps the weights of the best validation, and answers the validation
// and test splits with them: `out` gets evaluation.json and predictions-<split>.jsonl, and the
// model folder remembers the task. A model that gives one constant answer is named in the log.
FinetuneSummary finetune(const FinetuneOptions& options, Communicator& communicator);
FinetuneSummary finetune(const FinetuneOptions& options);  // one process

}  // namespace convseq
