#include <fmt/format.h>
#include <fmt/ranges.h>

#include <limits>

#include "convseq/base/counted.h"
#include "convseq/study/report/sections/comparison.h"

namespace convseq::report {
namespace {

// Scores of a changed model; null: none.
const System* changed(const Context& context, const Model& model, Start start,
                      const std::string& task) {
  return context.systems.find(model.name, start, task, kAblationQuestions);
}

// Those of the unchanged one from the same start on the same task; null: none, or they are those of
// the main comparison after another budget of pre-training.
const System* unchanged(const Context& context, const Model& model, const System& system) {
  const Model* plain = context.unchanged(model);
  if (plain == nullptr) return nullptr;
  const System* other = context.find(*plain, system.start, system.task, kAblationQuestions);
  if (other == nullptr) return nullptr;
  const CellResult* own_start = context.pretraining_of(system);
  const CellResult* other_start = context.pretraining_of(*other);
  const bool known = own_start != nullptr && other_start != nullptr;
  return known && budget_of(*own_start) != budget_of(*other_start) ? nullptr : other;
}

// The mean difference of a pre-trained model to the unchanged one, over the tasks that both have.
std::string change_text(const Context& context, const Model& model) {
  std::vector<TaskPair> pairs;
  for (const std::string& task : context.tasks(kAblationQuestions)) {
    const System* system = changed(context, model, Start::Pretrained, task);
    const System* other = system == nullptr ? nullptr : unchanged(context, model, *system);
    if (other != nullptr) pairs.push_back({task, system, other});
  }
  if (pairs.empty()) return "";
  const Comparison found = compare(model, std::move(pairs));
  const CellResult* pretraining = context.pretraining_of(*found.pairs.front().first);
  const std::string tokens =
      pretraining == nullptr ? "" : fmt::format(", {} tokens", budget_of(*pretraining));
  return fmt::format("{} {} ({}{}{})", model.name, difference_text(found.mean),
                     counted(found.tasks(), "task"), tokens, luck_text(found));
}

// NaN: not known, or it had no validation corpus.
double loss_of(const CellResult* pretraining) {
  const bool known = pretraining != nullptr && !pretraining->validation.empty();
  return known ? pretraining->nll : std::numeric_limits<double>::quiet_NaN();
}

// Pre-trained on the first task that has scores of the model; null: none.
const System* first_pretrained(const Context& context, const Model& model) {
  for (const std::string& task : context.tasks(kAblationQuestions)) {
    const System* system = changed(context, model, Start::Pretrained, task);
    if (system != nullptr) return system;
  }
  return nullptr;
}

Table pretraining_table(const Context& context) {
  Table table{"Pre-training with each change: validation loss in nats per token",
              {"model", "change", "tokens", "parameters", "loss", "unchanged", "difference"},
              {}};
  bool several = false;
  for (const Model* model : context.models(kAblationQuestions)) {
    if (model->changes.empty()) continue;
    const System* system = first_pretrained(context, *model);
    const CellResult* own = system == nullptr ? nullptr : context.pretraining_of(*system);
    if (own == nullptr) continue;
    const System* plain = unchanged(context, *model, *system);
    const CellResult* other = plain == nullptr ? nullptr : context.pretraining_of(*plain);
    several =
        several || system->pretrainings() > 1 || (other != nullptr && plain->pretrainings() > 1);
    table.rows.push_back({model->name, fmt::format("{}", fmt::join(model->changes, ", ")),
                          budget_of(*own), short_count(static_cast<double>(own->parameters)),
                          fixed(loss_of(own), 3), fixed(loss_of(other), 3),
                          with_sign(loss_of(own) - loss_of(other), 3)});
  }
  if (several) table.caption += ", first seed of each model";
  return table;
}

std::string ablation_answer(const Context& context) {
  std::vector<std::string> texts;
  for (const Model* model : context.models(kAblationQuestions)) {
    if (model->changes.empty()) continue;
    const std::string text = change_text(context, *model);
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
        const System* system = changed(context, *model, start, task);
        if (system == nullptr) continue;
        const System* other = unchanged(context, *model, *system);
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
