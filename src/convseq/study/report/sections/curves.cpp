#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "convseq/base/contains.h"
#include "convseq/study/report/sections/differing_settings.h"
#include "convseq/study/report/sections/sections.h"

namespace convseq::report {
namespace {

std::string run_text(const CellResult& result) {
  return result.task.empty() ? result.model : fmt::format("{} on {}", result.model, result.task);
}

// The mean over runs and tasks of the main metric, by the pre-training that the runs start from.
std::map<int64_t, double> means_by_pretraining(const std::vector<const System*>& systems) {
  std::map<int64_t, double> means;
  for (const System* system : systems) {
    const std::string metric = main_metric(*system);
    std::map<int64_t, std::vector<double>> scores;
    for (const CellResult* run : system->runs) {
      scores[run->pretraining_seed].push_back(run->splits.at("test").metric(metric));
    }
    for (const auto& [seed, values] : scores) {
      double sum = 0;
      for (const double value : values) sum += value;
      means[seed] += sum / static_cast<double>(values.size() * systems.size());
    }
  }
  return means;
}

// How much the luck of a pre-training matters: every task counts that has the same ones as the task
// with the most.
Table luck_table(const Context& context) {
  Table table{"Mean test score by pre-training seed",
              {"model", "tasks", "pre-trainings", "by seed", "highest − lowest"},
              {}};
  for (const Model* model : context.models(kMainQuestions)) {
    auto systems = systems_on(context, *model, Start::Pretrained,
                              common_tasks(context, {model}, Start::Pretrained));
    std::set<int64_t> seeds;
    for (const System* system : systems) {
      if (system->pretrainings() > std::ssize(seeds)) seeds = system->pretraining_seeds();
    }
    std::erase_if(systems,
                  [&](const System* system) { return system->pretraining_seeds() != seeds; });
    if (seeds.size() < 2) continue;
    std::vector<std::string> texts;
    double low = 1, high = 0;
    for (const auto& [seed, mean] : means_by_pretraining(systems)) {
      texts.push_back(fmt::format("{}: {}", seed, percent(mean)));
      low = std::min(low, mean);
      high = std::max(high, mean);
    }
    table.rows.push_back({model->name, std::to_string(systems.size()), std::to_string(seeds.size()),
                          fmt::format("{}", fmt::join(texts, " ")), percent(high - low)});
  }
  return table;
}

// Of changed models alone: their losses stand in the table of the ablations, and a plot with a
// dozen nearly equal curves more could not be read.
bool is_of_ablation(const Context& context, const CellResult& result) {
  const Model* model = context.input.model(result.model);
  return model != nullptr && !model->changes.empty() &&
         contains(context.models(kAblationQuestions), model);
}

}  // namespace

Section curve_section(const Context& context) {
  Section section{"Pre-training curves"};
  std::map<std::string, std::vector<const CellResult*>> runs;  // by model and text
  std::map<std::string, std::string> titles;                   // without the budget
  std::vector<std::string> order;
  for (const CellResult& result : context.input.results) {
    if (result.kind != CellKind::Pretrain || !result.failed.empty()) continue;
    const std::string size = result.inputs.is_object() && result.inputs.contains("model")
                                 ? fmt::format(" d={}", result.inputs["model"].value("d_model", 0))
                                 : "";
    // Seeds of one budget differ by a few tokens.
    const std::string title = fmt::format(
        "{}{}{}", run_text(result),
        result.corpus.empty() || result.corpus == "main" ? "" : " on " + result.corpus, size);
    std::string name = fmt::format("{}, {} tokens", title, budget_of(result));
    if (runs.contains(name)) {  // with other settings it is another row
      const auto differences =
          json_differences(settings_in(runs[name].front()), settings_in(&result));
      if (!differences.empty()) name += fmt::format(", {}", fmt::join(differences, ", "));
    }
    if (!runs.contains(name)) order.push_back(name);
    titles[name] = title;
    runs[name].push_back(&result);
  }
  if (runs.empty()) return section;
  Table table{"Validation NLL per token after pre-training",
              {"model", "steps", "seeds", "NLL", "minutes, all seeds", "cells"},
              {}};
  std::vector<std::pair<std::string, const CellResult*>> longest;  // by model, in the same order
  std::string left_out;
  for (const std::string& name : order) {
    SystemScores scores;
    double seconds = 0;
    std::string cells;
    for (const CellResult* run : runs[name]) {
      scores.groups.push_back({{run->nll}});
      seconds += run->seconds;
      cells += (cells.empty() ? "" : " ") + run->id.substr(0, 8);
    }
    const Estimate nll = estimate_mean(scores);
    const CellResult& first = *runs[name].front();
    const std::string text =
        first.validation.empty()
            ? kMissing
            : fmt::format("{} ± {}", fixed(nll.value, 3),
                          nll.counts_runs ? fixed(nll.half_width(), 3) : kMissing);
    table.rows.push_back({name, grouped(first.steps), std::to_string(scores.runs()), text,
                          fixed(seconds / 60, 2), cells});
    if (!first.task.empty() || first.validation.empty()) continue;
    if (is_of_ablation(context, first)) {
      left_out = "; without the ablations";
      continue;
    }
    const std::string& title = titles[name];
    const auto known = std::find_if(longest.begin(), longest.end(),
                                    [&](const auto& each) { return each.first == title; });
    if (known == longest.end()) {
      longest.emplace_back(title, &first);
    } else if (known->second->steps < first.steps) {
      known->second = &first;
    }
  }
  LineChart chart{.x_label = "steps", .y_label = "validation NLL per token"};
  for (const auto& [title, run] : longest) {
    LineChart::Series series{title};
    for (const CurvePoint& point : run->validation) {
      series.points.push_back({static_cast<double>(point.step), point.value});
    }
    chart.series.push_back(std::move(series));
  }
  section.blocks.emplace_back(std::move(table));
  if (!chart.series.empty()) {
    section.blocks.emplace_back(Plot{
        "pretraining.svg",
        fmt::format("Validation NLL during pre-training, first seed of each model, its longest "
                    "pre-training{}.",
                    left_out),
        draw(chart)});
  }
  if (Table luck = luck_table(context); !luck.rows.empty()) {
    section.blocks.emplace_back(std::move(luck));
  }
  return section;
}

}  // namespace convseq::report
