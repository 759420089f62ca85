#pragma once

#include <functional>
#include <map>

#include "convseq/answer/evaluate_task.h"
#include "convseq/data/shape_ladder.h"
#include "convseq/train/training_run.h"

namespace convseq {

enum class AnswerForm { Text, Pooled };
template <>
inline constexpr auto kEnumNames<AnswerForm> = std::to_array<EnumName<AnswerForm>>({
    {AnswerForm::Text, "text"},      // the decoder writes the label
    {AnswerForm::Pooled, "pooled"},  // a linear head on the mean encoder output; no decoder
});

struct FinetuneOptions : TrainingOptions {
  FinetuneOptions() {
    schedule = {.kind = ScheduleKind::Linear, .learning_rate = 5e-3, .warmup_steps = kUsualWarmup};
    limits = {};
    validate_every = 0;
  }

  Task task;
  TaskReaderOptions reader;
  ModelConfig model;
  std::filesystem::path tokenizer;  // of the model; may be the folder of a pre-trained model
  std::filesystem::path from;       // model folder with the initial weights; empty: from scratch
  bool freeze_encoder = false;
  AnswerForm form = AnswerForm::Text;

  int64_t batch_rows = 32;
  double epochs = 3;             // if no other limit is given
  int64_t max_steps = 0;         // the most steps that `epochs` may give; 0: any number
  int64_t train_limit = 0;       // use only the first N examples; 0: all
  int64_t validation_limit = 0;  // likewise
  double held_out = 0.1;         // validation fraction without a validation split; 0: none
  std::map<std::string, double> class_weights;  // loss weight by label; default 1
  bool balance_classes = false;  // class weights that give all labels equal total weight
  ShapeLadderOptions shapes;     // to which batches are padded on a GPU for captured steps

  LengthBatchOptions batches;                                  // of validation and evaluation
  std::vector<std::string> evaluate = {"validation", "test"};  // splits scored at the end
  BootstrapOptions bootstrap;                                  // of these scores
  std::function<void(const std::string& split, const TaskEvaluation&)> on_evaluation =
      [](const std::string&, const TaskEvaluation&) {};
  // How splits are read; a caller of many runs may keep them.
  std::function<TaskSplit(const Task&, const std::string& split, const Tokenizer&,
                          const TaskSplitOptions&)>
      read = read_split;

  bool is_multi_label() const { return task.label_kind == LabelKind::Multi; }
};

struct FinetuneSummary {
  TrainingSummary training;
  std::map<std::string, RowTotals> rows;  // by split: rows used, skipped and truncated
  std::map<std::string, Report> reports;  // by split, of the best model; empty until finished
  Json to_json() const;
};

// Fine-tunes a model on one task, keeps the weights of the best validation, and evaluates them on
// the splits of `evaluate`. Writes evaluation.json, predictions-<split>.jsonl and task.json to
// `out`, unless `in_memory` is set. Logs a warning if the model has collapsed.
FinetuneSummary finetune(const FinetuneOptions& options, Communicator& communicator);
FinetuneSummary finetune(const FinetuneOptions& options);  // one process

}  // namespace convseq
