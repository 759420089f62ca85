#include <fmt/format.h>

#include <map>
#include <set>

#include "convseq/study/report/sections/sections.h"

namespace convseq::report {
namespace {

std::set<std::string> other_splits(const Context& context, const std::string& task) {
  std::set<std::string> splits;
  for (const System& system : context.systems.all()) {
    if (system.task != task) continue;
    for (const auto& [name, split] : system.runs.front()->splits) {
      if (name != "validation" && name != "test" && name != "train") splits.insert(name);
    }
  }
  return splits;
}

void add_split(Section& section, const Context& context, const std::string& task,
               const std::string& split) {
  Table table{fmt::format("{}: {} beside test", task, split),
              {"model", "start", "test", split, "runs"},
              {}};
  for (const Model* model : context.models(kMainQuestions)) {
    for (const Start start : {Start::Scratch, Start::Pretrained}) {
      const System* system = context.find(*model, start, task);
      if (system == nullptr) continue;
      const std::string metric = main_metric(*system);
      if (!has(*system, {metric, split})) continue;
      table.rows.push_back({model->name, title_of(start), text_of(figure_of(*system)),
                            text_of(figure_of(*system, {metric, split})),
                            TableCell("", run_links({system}))});
    }
  }
  if (!table.rows.empty()) section.blocks.emplace_back(std::move(table));
}

void add_categories(Section& section, const Context& context, const std::string& task,
                    const std::string& split) {
  std::vector<const System*> systems;
  std::map<std::string, int64_t> categories;  // with their numbers of examples
  Table table{
      fmt::format("{}, {} by category, pre-trained", task, split), {"category", "examples"}, {}};
  for (const Model* model : context.models(kMainQuestions)) {
    const System* system = context.find(*model, Start::Pretrained, task);
    if (system == nullptr || !system->runs.front()->splits.contains(split)) continue;
    const SplitResult& first = system->runs.front()->splits.at(split);
    for (const auto& [name, count] : first.category_examples) categories[name] = count;
    systems.push_back(system);
    table.header.push_back(model->name);
  }
  table.header.emplace_back("runs");
  for (const auto& [category, count] : categories) {
    std::vector<TableCell> row = {category, grouped(count)};
    for (const System* system : systems) {
      const Figure figure = category_figure(*system, split, category);
      row.emplace_back(figure.runs > 0 ? text_of(figure) : kMissing);
    }
    row.emplace_back("", run_links(systems));
    table.rows.push_back(std::move(row));
  }
  if (!table.rows.empty()) section.blocks.emplace_back(std::move(table));
}

}  // namespace

Section split_section(const Context& context) {
  Section section{"Other test sets, and scores by category"};
  for (const std::string& task : context.tasks(kMainQuestions)) {
    auto splits = other_splits(context, task);
    for (const std::string& split : splits) add_split(section, context, task, split);
    splits.insert("test");
    for (const std::string& split : splits) add_categories(section, context, task, split);
  }
  return section;
}

}  // namespace convseq::report
