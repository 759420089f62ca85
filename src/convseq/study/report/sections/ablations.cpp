#include <fmt/format.h>
#include <fmt/ranges.h>

#include "convseq/base/counted.h"
#include "convseq/study/report/sections/comparison.h"

namespace convseq::report {
namespace {

const std::vector<std::string> kAblationQuestions = {"ablations"};

const System* unchanged(const Context& context, const Model& model, Start start,
                        const std::string& task) {
  const Model* other = context.unchanged(model);
  return other == nullptr ? nullptr : context.find(*other, start, task, kAblationQuestions);
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
  return fmt::format("{} {} ({}{})", model.name, difference_text(found.mean),
                     counted(found.tasks(), "task"), luck_text(found));
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

Section ablation_section(const Context& context) {
  Section section{"Ablations: what of the model and its fine-tuning matters?"};
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
  return section;
}

}  // namespace convseq::report
