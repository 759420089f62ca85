#include "convseq/train/finetune/finetune_examples.h"

#include <torch/types.h>

#include <algorithm>

namespace convseq {
namespace {

std::map<std::string, double> weights_of(const FinetuneOptions& options, const TaskSplit& train) {
  if (!options.balance_classes) return options.class_weights;
  // The loss has one term per example of a pooled head, but one per token of a text.
  std::map<std::string, double> terms;
  double all = 0;
  for (size_t i = 0; i < train.examples.size(); ++i) {
    const double terms_here =
        options.form == AnswerForm::Pooled ? 1 : static_cast<double>(train.targets[i].size());
    terms[train.examples[i].target] += terms_here;
    all += terms_here;
  }
  const double even = all / static_cast<double>(terms.size());
  for (auto& [label, value] : terms) value = even / value;
  return terms;
}

// The targets of a pooled head: the class, or for label sets a 0 or 1 for each class.
std::vector<int32_t> head_target(const Task& task, const TaskExample& example) {
  if (task.label_kind == LabelKind::Single) return {class_of(task, example.target)};
  std::vector<int32_t> target(task.labels.size());
  for (const std::string& label : example.labels) {
    target[static_cast<size_t>(class_of(task, label))] = 1;
  }
  return target;
}

}  // namespace

int32_t class_of(const Task& task, const std::string& label) {
  const auto found = std::find(task.labels.begin(), task.labels.end(), label);
  return static_cast<int32_t>(found - task.labels.begin());
}

torch::Tensor positive_weights(const FinetuneOptions& options, const TaskSplit& train) {
  std::vector<double> weights(options.task.labels.size(), 1);
  for (const auto& [label, weight] : options.class_weights) {
    weights[static_cast<size_t>(class_of(options.task, label))] = weight;
  }
  if (options.balance_classes) {
    std::vector<double> counts(weights.size());
    for (const TaskExample& example : train.examples) {
      for (const std::string& label : example.labels) {
        ++counts[static_cast<size_t>(class_of(options.task, label))];
      }
    }
    const auto examples = static_cast<double>(train.examples.size());
    for (size_t i = 0; i < counts.size(); ++i) {
      if (counts[i] > 0 && counts[i] < examples) weights[i] = (examples - counts[i]) / counts[i];
    }
  }
  const bool any = std::any_of(weights.begin(), weights.end(), [](double w) { return w != 1; });
  return any ? torch::tensor(weights, torch::kFloat32) : torch::Tensor();
}

std::vector<Example> examples_of(const FinetuneOptions& options, TaskSplit train) {
  const auto weights = options.task.label_kind == LabelKind::Multi ? std::map<std::string, double>()
                                                                   : weights_of(options, train);
  std::vector<Example> examples;
  for (size_t i = 0; i < train.examples.size(); ++i) {
    const std::string& label = train.examples[i].target;
    const auto weight = weights.find(label);
    examples.push_back({.source = std::move(train.sources[i]),
                        .target = options.form == AnswerForm::Pooled
                                      ? head_target(options.task, train.examples[i])
                                      : std::move(train.targets[i]),
                        .weight = weight == weights.end() ? 1 : weight->second});
  }
  return examples;
}

}  // namespace convseq
