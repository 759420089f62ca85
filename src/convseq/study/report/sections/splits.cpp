#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
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

// "cogs, gen, from scratch and pre-trained: light 5.1 and 62.6"
std::string split_text(const Context& context, const std::string& task, const std::string& split) {
  std::vector<std::string> texts;
  for (const Model* model : context.models(kMainQuestions)) {
    std::vector<std::string> scores;
    for (const Start start : {Start::Scratch, Start::Pretrained}) {
      const System* system = context.find(*model, start, task);
      if (system == nullptr || !has(*system, {main_metric(*system), split})) continue;
      const Figure figure = figure_of(*system, {main_metric(*system), split});
      scores.push_back(share_text(figure.estimate) + luck_note(figure.pretrainings == 1));
    }
    if (scores.size() == 2) {
      texts.push_back(fmt::format("{} {} and {}", model->name, scores[0], scores[1]));
    }
  }
  if (texts.empty()) return "";
  return fmt::format("{}, {}, from scratch and pre-trained: {}.", task, split,
                     fmt::join(texts, "; "));
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

std::vector<double> category_scores(const System& system, const std::string& split,
                                    const std::string& category) {
  std::vector<double> scores;
  for (const CellResult* run : system.runs) {
    const auto found = run->splits.find(split);
    if (found == run->splits.end() || !found->second.categories.contains(category)) continue;
    scores.push_back(100 * found->second.categories.at(category));
  }
  return scores;
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
  IntervalChart chart{.x_label = "test score after pre-training, percent",
                      .series = {table.header.begin() + 2, table.header.end()}};
  table.header.emplace_back("runs");
  std::vector<std::string> never;  // right in less than one of a hundred, by any model
  for (const auto& [category, count] : categories) {
    std::vector<TableCell> row = {category, grouped(count)};
    IntervalChart::Row marks{category};
    double best = 0;
    for (size_t i = 0; i < systems.size(); ++i) {
      const Figure figure = category_figure(*systems[i], split, category);
      row.emplace_back(figure.runs > 0 ? text_of(figure) : kMissing);
      if (figure.runs == 0) continue;
      best = std::max(best, figure.estimate.value);
      marks.marks.push_back({.series = i,
                             .value = 100 * figure.estimate.value,
                             .interval = score_interval(figure.estimate),
                             .seeds = category_scores(*systems[i], split, category)});
    }
    if (best < 0.01) never.push_back(category);
    row.emplace_back("", run_links(systems));
    table.rows.push_back(std::move(row));
    chart.rows.push_back(std::move(marks));
  }
  if (table.rows.empty()) return;
  if (!never.empty()) {
    section.add_answer(
        fmt::format("{}, {}, below 1% with every pre-trained model: {} of {} categories ({}).",
                    task, split, never.size(), categories.size(), fmt::join(never, ", ")));
  }
  section.blocks.emplace_back(std::move(table));
  if (categories.size() < 2) return;
  section.blocks.emplace_back(
      Plot{plot_file(fmt::format("categories-{}-{}.svg", task, split)),
           fmt::format("{}, {} by category, pre-trained: means with 95% intervals over runs; small "
                       "points are the seeds.",
                       task, split),
           draw(chart)});
}

}  // namespace

Section split_section(const Context& context) {
  Section section{"Generalisation: other test sets, and scores by category"};
  for (const std::string& task : context.tasks(kMainQuestions)) {
    auto splits = other_splits(context, task);
    for (const std::string& split : splits) {
      section.add_answer(split_text(context, task, split));
      add_split(section, context, task, split);
    }
    splits.insert("test");
    for (const std::string& split : splits) add_categories(section, context, task, split);
  }
  return section;
}

}  // namespace convseq::report
