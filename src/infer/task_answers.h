#pragma once

#include <string>
#include <vector>

#include "convseq/base/enum_names.h"
#include "convseq/data/task/row_totals.h"
#include "convseq/data/task/task_encoder.h"
#include "convseq/eval/report.h"
#include "convseq/infer/answer.h"

namespace convseq {

enum class AnswerBy { Greedy, Labels, Head };
template <>
inline constexpr auto kEnumNames<AnswerBy> = std::to_array<EnumName<AnswerBy>>({
    {AnswerBy::Greedy, "greedy"},  // the text it writes
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
  int64_t limit = 0;  // the first so many examples; 0: all
};

TaskSplit read_split(const Task& task, const std::string& split, const Tokenizer& tokenizer,
                     const TaskSplitOptions& options);

// What suits the model and the task: its head, the task's labels, or else what it writes.
AnswerBy usual_answer(const Seq2Seq& model, const Task& task);

// One model answers one task, by one way of answering.
class TaskAnswerer {
 public:
  // Refuses a way that the model or the task does not have, and a head of other labels.
  TaskAnswerer(Seq2Seq& model, const Tokenizer& tokenizer, const Task& task, AnswerBy by);

  std::vector<std::string> answer(const std::vector<TokenIds>& sources,
                                  const LengthBatchOptions& batches = {});
  AnswerBy by() const { return by_; }

 private:
  Seq2Seq& model_;
  const Tokenizer& tokenizer_;
  const Task& task_;
  AnswerBy by_;
};

std::vector<Outcome> outcomes_of(const TaskSplit& split, const std::vector<std::string>& answers);

// The scores that the task asks for; by `evaluate` and by validation alike.
Report judge(const Task& task, const std::vector<Outcome>& outcomes,
             const BootstrapOptions& bootstrap);

}  // namespace convseq
