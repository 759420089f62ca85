#include "convseq/train/finetune/finetune_splits.h"

#include "convseq/base/log.h"
#include "convseq/base/random.h"
#include "convseq/data/random_use.h"

namespace convseq {
namespace {

void move_example(TaskSplit& from, size_t i, TaskSplit& to) {
  to.examples.push_back(std::move(from.examples[i]));
  to.sources.push_back(std::move(from.sources[i]));
  to.targets.push_back(std::move(from.targets[i]));
}

FinetuneSplits hold_out(TaskSplit all, double share, uint64_t seed) {
  FinetuneSplits splits;
  splits.train.totals = all.totals;
  for (size_t i = 0; i < all.examples.size(); ++i) {
    const bool held = Random(seed, {kHeldOut, i}).uniform() < share;
    move_example(all, i, held ? splits.validation : splits.train);
  }
  splits.train.totals.rows = std::ssize(splits.train.examples);
  splits.validation.totals.rows = std::ssize(splits.validation.examples);
  return splits;
}

void keep_first(TaskSplit& split, int64_t limit) {
  if (limit == 0 || std::ssize(split.examples) <= limit) return;
  split.examples.resize(static_cast<size_t>(limit));
  split.sources.resize(static_cast<size_t>(limit));
  split.targets.resize(static_cast<size_t>(limit));
  split.totals.rows = limit;
}

}  // namespace

std::string training_split(const Task& task) {
  for (const char* split : {"train", "all"}) {
    if (task.has_split(split)) return split;
  }
  const std::string& first = task.files.front().first;
  require(task.files.size() == 1 && first != "validation" && first != "test",
          "{}: has no training data; name files with {}", task.name, OptionName("train"));
  return first;
}

FinetuneSplits read_splits(const FinetuneOptions& options, const Tokenizer& tokenizer) {
  const Task& task = options.task;
  const std::string train = training_split(task);
  const auto read = [&](const std::string& split, int64_t limit) {
    return options.read(task, split, tokenizer, {.reader = options.reader, .limit = limit});
  };
  if (task.has_split("validation")) {
    return {read(train, options.train_limit), read("validation", options.validation_limit)};
  }
  TaskSplit all = read(train, options.train_limit);
  const auto examples = all.examples.size();
  if (options.held_out == 0) return {std::move(all), {}};
  FinetuneSplits splits = hold_out(std::move(all), options.held_out, options.seed);
  require(
      !splits.train.examples.empty() && !splits.validation.examples.empty(),
      "{}: {} example{} too few to hold out a share of {} for validation; use {}, or give files "
      "with {}",
      task.name, examples, examples == 1 ? " is" : "s are", options.held_out,
      OptionName("held_out", 0), OptionName("validation"));
  log::info("{}: {} of {} examples are held out for validation", task.name,
            splits.validation.examples.size(), examples);
  keep_first(splits.validation, options.validation_limit);
  return splits;
}

}  // namespace convseq
