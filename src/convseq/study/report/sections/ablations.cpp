#include <fmt/format.h>
#include <fmt/ranges.h>

#include "convseq/base/counted.h"
#include "convseq/study/report/sections/comparison.h"

namespace convseq::report {
namespace {

const System* unchanged(const Context& context, const Model& model, Start start,
                        const std::string& task) {
  const Model* other = context.unchanged(model);
  return other == nullptr ? nullptr : context.find(*other, start, task, kAblationQuestions);
}

// Of the first task that has scores of the model; null: none.
const CellResult* pretraining_in(const Context& context, const Model& model) {
  for (const std::string& task : context.tasks(kAblationQuestions)) {
    const System* system = context.find(model, Start::Pretrained, task, kAblationQuestions);
    if (system != nullptr) return context.pretraining_of(*system);
  }
  return nullptr;
}

// The mean difference of a model to the unchanged one, over the tasks that both have.
std::string change_text(const Context& context, const Model& model, Start start) {
  std::vector<TaskPair> pairs;
  for (const std::string& task : context.tasks(kAblationQuestions)) {
    const System* system = context.systems.find(model.name, start, task, kAblationQuestions);
    const System* other = unchanged(context, model, start, task);
    if (system != nullptr && other != nullptr) pairs.push_back({task, system, other});
  }
  if (pairs.empty()) return "";
  const Comparison found = compare(model, std::move(pairs));
  const CellResult* pretraining = pretraining_in(context, model);
  const std::string tokens =
      pretraining == nullptr ? "" : fmt::format(", {} tokens", budget_of(*pretraining));
  return fmt::format("{} {} ({}{}{})", model.name, difference_text(found.mean),
                     counted(found.tasks(), "task"), tokens, luck_text(found));
}

Table pretraining_table(const Context& context) {
  Table table{"Pre-training with each change: validation loss in nats per token",
              {"model", "change", "tokens", "parameters", "loss", "unchanged", "difference"},
              {}};
  for (const Model* model : context.models(kAblationQuestions)) {
    if (model->changes.empty()) continue;
    const CellResult* own = pretraining_in(context, *model);
    if (own == nullptr) continue;
    const Model* plain = context.unchanged(*model);
    const CellResult* other = plain == nullptr ? nullptr : pretraining_in(context, *plain);
    if (other != nullptr && budget_of(*own) != budget_of(*other)) other = nullptr;
    table.rows.push_back({model->name, fmt::format("{}", fmt::join(model->changes, ", ")),
                          budget_of(*own), short_count(static_cast<double>(own->parameters)),
                          fixed(own->nll, 3), other == nullptr ? kMissing : fixed(other->nll, 3),
                          other == nullptr ? kMissing : with_sign(own->nll - other->nll, 3)});
  }
  return table;
}

std::string ablation_answer(const Context& context) {
  std::vector<std::string> texts;
  for (const Model* model : context.models(kAblationQuestions)) {
    if (model->changes.empty()) continue;
    const std::string text = change_text(context, *model, Start::Pretrained);
    if (!text.empty()) texts.push_back(text);
  }
  if (texts.empty()) return "";
  return fmt::format("Pre-trained, mean difference to the unchanged model: {}.",
                     fmt::join(texts, "; "));
}

}  // namespace

const std::vector<std::string> kAblationQuestions = {"ablations"};

Section ablation_section(const Context& context) {
  Section section{"Ablations: what of the convolution matters?"};
  Table table{"Each change against the unchanged model",
              {"model", "change", "start", "task", "score", "unchanged", "difference",
               "the change is", "runs"},
              {}};
  for (const Model* model : context.models(kAblationQuestions)) {
    if (model->changes.empty()) continue;
    for (const std::string& task : context.tasks(kAblationQuestions)) {
      for (const Start start : {Start::Scratch, Start::Pretrained}) {
        const System* system = context.systems.find(model->name, start, task, kAblationQuestions);
        if (system == nullptr) continue;
        const System* other = unchanged(context, *model, start, task);
        std::vector<TableCell> row = {model->name,
                                      fmt::format("{}", fmt::join(model->changes, ", ")),
                                      title_of(start), task, text_of(figure_of(*system))};
        row.emplace_back(other == nullptr ? kMissing : text_of(figure_of(*other)));
        add_difference(row, difference_to(*system, other));
        row.emplace_back("", run_links({system, other}));
        table.rows.push_back(std::move(row));
      }
    }
  }
  if (table.rows.empty()) return section;
  section.answer = ablation_answer(context);
  section.blocks.emplace_back(std::move(table));
  if (Table losses = pretraining_table(context); !losses.rows.empty()) {
    section.blocks.emplace_back(std::move(losses));
  }
  return section;
}

}  // namespace convseq::report
