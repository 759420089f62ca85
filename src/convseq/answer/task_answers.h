#pragma once

#include <string>
#include <vector>

#include "convseq/answer/answer.h"
#include "convseq/base/enum_names.h"
#include "convseq/data/task/row_totals.h"
#include "convseq/data/task/task_encoder.h"
#include "convseq/eval/report.h"

namespace convseq {

enum class AnswerBy { Greedy, Labels, Head };
template <>
inline constexpr auto kEnumNames<AnswerBy> = std::to_array<EnumName<AnswerBy>>({
    {AnswerBy::Greedy, "greedy"},  // the generated text
    {AnswerBy::Labels, "labels"},  // the likeliest of the task's labels
    {AnswerBy::Head, "head"},      // the class of the head on the encoder
});

// A split of a task as text and as ids.
struct TaskSplit {
  std::vector<TaskExample> examples;
  std::vector<TokenIds> sources, targets;  // each closed by an EOS
  RowTotals totals;
};

struct TaskSplitOptions {
  TaskReaderOptions reader;
  int64_t limit = 0;  // use only the first N examples; 0: all
};

TaskSplit read_split(const Task& task, const std::string& split, const Tokenizer& tokenizer,
                     const TaskSplitOptions& options);

// Learned positions bound the lengths of sources and targets.
void fit_to_positions(Task& task, const ModelConfig& model);

// The default for a model and a task: the head if it has one, else labels, else generated text.
AnswerBy usual_answer(const ModelConfig& model, const Task& task);

// Answers of one model to one task, by one AnswerBy.
class TaskAnswerer {
 public:
  // Refuses an AnswerBy that the model or the task does not support, and a head with other labels
  // or of another kind.
  TaskAnswerer(Engine& engine, const Tokenizer& tokenizer, const Task& task, AnswerBy by);

  // Texts, of AnswerBy::Greedy.
  std::vector<std::string> generate(const std::vector<TokenIds>& sources,
                                    const LengthBatchOptions& batches = {});
  // [source][label of the task], of the other ones: logits, or log-probabilities.
  ClassScores scores(const std::vector<TokenIds>& sources, const LengthBatchOptions& batches = {});
  AnswerBy by() const { return by_; }
  const Task& task() const { return task_; }
  Engine& engine() { return engine_; }

 private:
  Engine& engine_;
  const Tokenizer& tokenizer_;
  const Task& task_;
  AnswerBy by_;
};

}  // namespace convseq
