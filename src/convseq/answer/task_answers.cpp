#include "convseq/answer/task_answers.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "convseq/data/task/encoded_task_reader.h"
#include "convseq/spec/vocabulary_check.h"

namespace convseq {

TaskSplit read_split(const Task& task, const std::string& split, const Tokenizer& tokenizer,
                     const TaskSplitOptions& options) {
  EncodedTaskReader reader(task, split, tokenizer,
                           {.reader = options.reader, .limit = options.limit});
  TaskSplit result;
  for (EncodedTaskExample example; reader.next(example);) {
    result.examples.push_back(std::move(example.text));
    result.sources.push_back(std::move(example.ids.source));
    result.targets.push_back(std::move(example.ids.target));
  }
  result.totals = reader.totals();
  return result;
}

void fit_to_positions(Task& task, const ModelConfig& model) {
  if (model.positions != Positions::Learned) return;
  task.max_source_tokens = std::min(task.max_source_tokens, model.max_positions);
  task.max_target_tokens = std::min(task.max_target_tokens, model.max_positions);
}

AnswerBy usual_answer(const ModelConfig& model, const Task& task) {
  if (model.decoder_layers == 0) return AnswerBy::Head;
  return task.labels.empty() ? AnswerBy::Greedy : AnswerBy::Labels;
}

TaskAnswerer::TaskAnswerer(Engine& engine, const Tokenizer& tokenizer, const Task& task,
                           AnswerBy by)
    : engine_(engine), tokenizer_(tokenizer), task_(task), by_(by) {
  const ModelConfig& config = engine.config();
  check_vocabulary(config, tokenizer.vocabulary(), task.name);
  require(by != AnswerBy::Labels || !task.labels.empty(),
          "{}: has no list of labels; name them with {}, or use {}", task.name,
          OptionName("labels"), OptionName("by", name_of(AnswerBy::Greedy)));
  require(by == AnswerBy::Head || config.decoder_layers > 0,
          "the model has no decoder; it answers by its head alone");
  require(by == AnswerBy::Head || task.label_kind == LabelKind::Single,
          "{}: is a multi-label task, which only a classification head answers", task.name);
  if (by != AnswerBy::Head) return;
  require(config.classes > 0, "{}: the model has no classification head",
          OptionName("by", name_of(AnswerBy::Head)));
  require(config.labels == task.labels, "{}: its labels are [{}], the model's head has [{}]",
          task.name, fmt::join(task.labels, ", "), fmt::join(config.labels, ", "));
  require(config.label_kind == task.label_kind,
          "{}: its label_kind is {}, that of the model's head is {}", task.name,
          name_of(task.label_kind), name_of(config.label_kind));
}

std::vector<std::string> TaskAnswerer::generate(const std::vector<TokenIds>& sources,
                                                const LengthBatchOptions& batches) {
  std::vector<std::string> texts;
  const GreedyOptions greedy{.max_tokens = task_.max_target_tokens};
  for (const Generation& each : generate_answers(engine_, sources, greedy, batches)) {
    texts.push_back(tokenizer_.decode(each.tokens));
  }
  return texts;
}

ClassScores TaskAnswerer::scores(const std::vector<TokenIds>& sources,
                                 const LengthBatchOptions& batches) {
  if (by_ == AnswerBy::Head) return score_classes(engine_, sources, batches);
  std::vector<TokenIds> labels;
  for (const std::string& label : task_.labels) labels.push_back(tokenizer_.encode(label));
  return score_labels(LabelScorer(engine_, labels), sources, batches);
}

}  // namespace convseq
