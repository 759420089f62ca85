#include <fmt/format.h>
#include <fmt/ranges.h>

#include <set>

#include "convseq/base/counted.h"
#include "convseq/study/report/sections/sections.h"

namespace convseq::report {
namespace {

// The rates that were tried, with the validation score of each, and its metric if it is not the one
// of the row.
std::string choice_text(const System& system) {
  std::vector<std::string> tried;
  std::string other_metric;
  for (const CellResult* run : system.choice) {
    const auto validation = run->splits.find("validation");
    std::string score = kMissing;
    if (validation != run->splits.end() && !validation->second.metrics.empty()) {
      const auto& [metric, value] = validation->second.metrics.front();
      score = percent(value);
      if (metric != main_metric(system)) other_metric = " " + metric;
    }
    tried.push_back(fmt::format("{}: {}", run->learning_rate, score));
  }
  return fmt::format("{}{}", fmt::join(tried, "; "), other_metric);
}

template <class Text>
std::string joined(const System& system, const char* separator, Text text) {
  std::vector<std::string> parts;
  for (const CellResult* run : system.runs) parts.push_back(text(*run));
  return fmt::format("{}", fmt::join(parts, separator));
}

std::string distinct(const System& system, std::string CellResult::*field) {
  std::set<std::string> found;
  for (const CellResult* run : system.runs) found.insert(run->*field);
  return fmt::format("{}", fmt::join(found, " "));
}

// How often the best rate was the lowest or the highest of at least three.
std::string edge_text(const Context& context) {
  int64_t lowest = 0, highest = 0, several = 0;
  for (const System& system : context.systems.all()) {
    std::set<double> rates;
    for (const CellResult* run : system.choice) rates.insert(run->learning_rate);
    if (rates.size() < 3) continue;
    ++several;
    lowest += system.runs.front()->learning_rate == *rates.begin();
    highest += system.runs.front()->learning_rate == *rates.rbegin();
  }
  if (several == 0) return "";
  return fmt::format(
      " Of the {} with three rates or more the lowest was chosen {} and the highest {} times; "
      "there a rate beyond those tried might have been better.",
      counted(several, "row"), lowest, highest);
}

}  // namespace

Section run_section(const Context& context) {
  Section section{"The table of runs"};
  Table table{
      "",
      {"run", "part", "model", "size", "start", "task", "metric", "score", "learning rate",
       "validation by rate, seed 1", "test score by seed", "minutes", "commit", "device", "cells"},
      {}};
  for (const System& system : context.systems.all()) {
    const std::string metric = main_metric(system);
    double seconds = 0;
    for (const CellResult* run : system.runs) seconds += run->total_seconds;
    const std::string number = std::to_string(system.number);
    TableCell first(number);
    first.anchor = number;
    table.rows.push_back(
        {first, system.part, system.model, system.size, std::string(name_of(system.start)),
         system.task, metric, text_of(figure_of(system)),
         fmt::format("{}", system.runs.front()->learning_rate), choice_text(system),
         joined(system, " ",
                [&](const CellResult& run) {
                  const std::string score = percent(run.splits.at("test").metric(metric));
                  return run.pretraining_seed > 0
                             ? fmt::format("{}/{}: {}", run.seed, run.pretraining_seed, score)
                             : fmt::format("{}: {}", run.seed, score);
                }),
         fixed(seconds / 60, 2), distinct(system, &CellResult::commit),
         distinct(system, &CellResult::device),
         joined(system, " ", [](const CellResult& run) { return run.id.substr(0, 8); })});
  }
  if (table.rows.empty()) return section;
  section.blocks.emplace_back(Paragraph{
      "One row per model, start and task. The learning rate was chosen on the validation split "
      "with seed 1. Scores by seed: fine-tuning seed, after the stroke the pre-training seed. A "
      "cell is the line of scores.jsonl whose \"id\" begins with these digits; its \"inputs\" hold "
      "every option that the numbers depend on." +
      edge_text(context)});
  section.blocks.emplace_back(std::move(table));
  return section;
}

}  // namespace convseq::report
