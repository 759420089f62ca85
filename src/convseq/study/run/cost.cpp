#include "convseq/study/run/cost.h"

#include <algorithm>
#include <cmath>

namespace convseq {

namespace {

int32_t vocab_size_of(const StudyTokenizer& tokenizer) {
  if (tokenizer.path.empty() || !std::filesystem::exists(tokenizer.path)) {
    return Vocabulary(tokenizer.trainer.pieces).size();
  }
  return Tokenizer::load(tokenizer.path).vocabulary().size();
}

}  // namespace

CostModel::CostModel(const StudyPlan& plan, const StudyFolder& folder)
    : plan_(plan), folder_(folder), vocab_size_(vocab_size_of(plan.study().tokenizer)) {
  for (const Cell& cell : plan.cells()) {
    const CellResult* result = folder.result(cell.id());
    if (result == nullptr || !result->failed.empty()) continue;
    if (cell.kind() == CellKind::Pretrain && result->seconds > 0) {
      const double speed = static_cast<double>(result->source_tokens) / result->seconds;
      means_["pretrain " + cell.label.model].add(speed);
      means_["pretrain"].add(speed);
    }
    if (cell.kind() == CellKind::Finetune) {
      means_["finetune " + cell.label.task + " " + cell.label.model].add(result->total_seconds);
      means_["finetune " + cell.label.task].add(result->total_seconds);
    }
  }
}

double CostModel::first_known(const std::vector<std::string>& keys) const {
  for (const std::string& key : keys) {
    const auto found = means_.find(key);
    if (found == means_.end()) continue;
    return found->second.sum / static_cast<double>(found->second.count);
  }
  return 0;
}

double CostModel::pretraining_tokens(const PretrainWork& work) const {
  const PretrainOptions& options = work.settings.options;
  if (options.limits.source_tokens > 0) return static_cast<double>(options.limits.source_tokens);
  return static_cast<double>(options.limits.steps * options.corpus.batch_rows *
                             options.corpus.room.source);
}

int64_t CostModel::training_rows(const StudyTask& chosen) {
  const auto known = rows_.find(chosen.task);
  if (known != rows_.end()) return known->second;
  int64_t& rows = rows_[chosen.task];
  if (synth_name(chosen.task)) return rows = plan_.study().synth.tasks->sizes.train;
  try {
    TaskReader reader(find_study_task(chosen, {}), "train", {.data = plan_.data(), .lines = {}});
    for (TaskExample example; reader.next(example);) ++rows;
  } catch (const Error&) {
    rows = 0;  // the data is not here
  }
  return rows;
}

double CostModel::finetuning_steps(const FinetuneWork& work) {
  const FinetuneOptions& options = work.settings.options;
  if (options.limits.steps > 0) return static_cast<double>(options.limits.steps);
  int64_t rows = training_rows(work.task);
  if (rows == 0) return static_cast<double>(options.max_steps);
  if (options.train_limit > 0) rows = std::min(rows, options.train_limit);
  const double epoch =
      std::ceil(static_cast<double>(rows) / static_cast<double>(options.batch_rows));
  const double steps = std::round(options.epochs * epoch);
  return options.max_steps > 0 ? std::min(steps, static_cast<double>(options.max_steps)) : steps;
}

CellCost CostModel::of(const Cell& cell) {
  CellCost cost;
  const StudySpeed& speed = plan_.study().speed;
  if (const auto* work = std::get_if<PretrainWork>(&cell.work)) {
    cost.tokens = pretraining_tokens(*work);
    double rate = first_known({"pretrain " + cell.label.model, "pretrain"});
    if (rate == 0) rate = speed.pretrain_tokens_per_second;
    if (rate > 0) cost.seconds = cost.tokens / rate;
    ModelConfig model = work->model;
    model.vocab_size = vocab_size_;
    cost.bytes = 4.0 * static_cast<double>(parameter_count(model));
  }
  if (const auto* work = std::get_if<FinetuneWork>(&cell.work)) {
    cost.steps = finetuning_steps(*work);
    const std::string task = "finetune " + cell.label.task;
    cost.seconds = first_known({task + " " + cell.label.model, task});
    if (cost.seconds == 0 && speed.finetune_steps_per_second > 0) {
      cost.seconds = cost.steps / speed.finetune_steps_per_second + speed.finetune_overhead_seconds;
    }
  }
  if (const CellResult* done = folder_.result(cell.id()); done != nullptr) {
    if (done->failed.empty()) cost.seconds = done->total_seconds;
  }
  return cost;
}

}  // namespace convseq
