#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "convseq/study/report/sections/sections.h"

namespace convseq::report {
namespace {

// The systems of one size by model and task, pre-trained on the corpus.
using BySize = std::map<std::string, std::map<std::string, std::map<std::string, const System*>>>;

BySize by_size(const Context& context) {
  BySize sizes;
  for (const System& system : context.systems.all()) {
    const Model* model = context.input.model(system.model);
    const bool in_main = std::any_of(
        context.input.parts.begin(), context.input.parts.end(),
        [&](const Part& part) { return part.name == system.part && part.asks(kMainQuestions); });
    if (model == nullptr || !model->changes.empty() || system.start != Start::Pretrained ||
        !in_main || system.size.empty()) {
      continue;
    }
    sizes[system.size][system.model].try_emplace(system.task, &system);
  }
  return sizes;
}

int64_t parameters_of(const std::map<std::string, const System*>& tasks) {
  return tasks.begin()->second->runs.front()->parameters;
}

}  // namespace

Section scale_section(const Context& context) {
  Section section{"Scale: does the ranking change with size?"};
  const BySize sizes = by_size(context);
  if (sizes.size() < 2) return section;
  // What all sizes have: models, and for each model the tasks.
  std::vector<std::string> models, tasks = context.tasks(kMainQuestions);
  for (const Model* model : context.models(kMainQuestions)) {
    const bool everywhere = std::all_of(sizes.begin(), sizes.end(), [&](const auto& size) {
      return size.second.contains(model->name);
    });
    if (everywhere) models.push_back(model->name);
  }
  std::erase_if(tasks, [&](const std::string& task) {
    return std::any_of(sizes.begin(), sizes.end(), [&](const auto& size) {
      return std::any_of(models.begin(), models.end(), [&](const std::string& model) {
        return !size.second.at(model).contains(task);
      });
    });
  });
  if (models.empty() || tasks.empty()) return section;
  std::vector<std::string> order;
  for (const auto& [size, found] : sizes) order.push_back(size);
  std::stable_sort(order.begin(), order.end(), [&](const std::string& a, const std::string& b) {
    return parameters_of(sizes.at(a).at(models[0])) < parameters_of(sizes.at(b).at(models[0]));
  });
  const auto on_tasks = [&](const std::string& size, const std::string& model) {
    std::vector<const System*> systems;
    for (const std::string& task : tasks) systems.push_back(sizes.at(size).at(model).at(task));
    return systems;
  };
  std::string baseline;
  for (const std::string& model : models) {
    if (context.input.model(model)->is_transformer()) baseline = model;
  }
  Table table{
      fmt::format("Mean test score over {} tasks, pre-trained", tasks.size()),
      {"size", "model", "parameters", "mean", "against the Transformer", "the model is", "runs"},
      {}};
  for (const std::string& size : order) {
    for (const std::string& model : models) {
      const auto systems = on_tasks(size, model);
      const Estimate mean = mean_over_tasks(systems);
      std::vector<TableCell> row = {size, model, grouped(parameters_of(sizes.at(size).at(model))),
                                    share_text(mean)};
      std::optional<Estimate> difference;
      if (!baseline.empty() && model != baseline) {
        difference = mean_over_tasks(systems, on_tasks(size, baseline));
      }
      add_difference(row, difference);
      row.emplace_back("", run_links(systems));
      table.rows.push_back(std::move(row));
    }
  }
  section.blocks.emplace_back(std::move(table));
  return section;
}

}  // namespace convseq::report
