#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <set>

#include "convseq/base/contains.h"
#include "convseq/base/counted.h"
#include "convseq/study/report/sections/sections.h"
#include "convseq/study/report/side_by_side.h"

namespace convseq::report {
namespace {

double mean(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return values.empty() ? std::numeric_limits<double>::quiet_NaN()
                        : sum / static_cast<double>(values.size());
}

// The cost of one model: means over its pre-trainings, and over its fine-tunings on all tasks.
struct Cost {
  const Model* model = nullptr;
  int64_t parameters = 0;
  int64_t pretrainings = 0;
  double tokens = 0, seconds = 0, flops = 0;
  double beside = 0;  // other cells on such a device during a pre-training
  double finetune_seconds = 0, finetune_flops = 0;
  std::vector<const System*> systems = {};  // the fine-tunings

  double total_minutes() const { return (seconds + finetune_seconds) / 60; }
  double total_flops() const { return flops + finetune_flops; }
};

bool in_main_part(const Context& context, const CellResult& result) {
  for (const Part& part : context.input.parts) {
    if (!part.asks(kMainQuestions)) continue;
    if (contains(result.parts, part.name)) {
      return true;
    }
  }
  return false;
}

// Ids of the pre-trainings that the runs of `systems` start from, as far as they are known.
std::set<std::string> starts_of(const std::vector<const System*>& systems) {
  std::set<std::string> ids;
  for (const System* system : systems) {
    for (const CellResult* run : system->runs) {
      if (run->inputs.is_object()) ids.insert(run->inputs.value("start", ""));
    }
  }
  return ids;
}

Cost cost_of(const Context& context, const Model& model,
             const std::vector<const System*>& systems) {
  Cost cost{.model = &model, .systems = systems};
  const std::set<std::string> starts = starts_of(systems);
  std::vector<double> tokens, seconds, flops, beside;
  for (const CellResult& result : context.input.results) {
    // One that several models share has the name of the first of them.
    const bool is_own = result.model == model.name || starts.contains(result.id);
    if (result.kind != CellKind::Pretrain || !is_own || !result.failed.empty() ||
        result.start == Start::Self || !in_main_part(context, result) ||
        !fits(size_of(result), &model)) {
      continue;
    }
    tokens.push_back(static_cast<double>(result.source_tokens));
    seconds.push_back(result.seconds);
    flops.push_back(result.flops);
    beside.push_back(cells_beside(result, context.input.results));
    cost.parameters = result.parameters;
  }
  cost.pretrainings = std::ssize(tokens);
  cost.tokens = mean(tokens);
  cost.seconds = mean(seconds);
  cost.flops = mean(flops);
  cost.beside = mean(beside);
  for (const System* system : systems) {  // each task counts alike
    std::vector<double> run_seconds, run_flops;
    for (const CellResult* run : system->runs) {
      run_seconds.push_back(run->seconds);
      run_flops.push_back(run->flops);
    }
    cost.finetune_seconds += mean(run_seconds);
    cost.finetune_flops += mean(run_flops);
  }
  return cost;
}

// Of all models with pre-trained scores, on the tasks that all of them have.
std::vector<Cost> costs_of(const Context& context) {
  std::vector<const Model*> models;
  for (const Model* model : context.models(kMainQuestions)) {
    if (!common_tasks(context, {model}, Start::Pretrained).empty()) models.push_back(model);
  }
  const auto tasks = common_tasks(context, models, Start::Pretrained);
  std::vector<Cost> costs;
  for (const Model* model : models) {
    if (tasks.empty()) break;
    costs.push_back(
        cost_of(context, *model, systems_on(context, *model, Start::Pretrained, tasks)));
    if (costs.back().pretrainings == 0) costs.pop_back();
  }
  return costs;
}

double largest(const std::vector<Cost>& costs, double Cost::*amount) {
  double most = 0;
  for (const Cost& cost : costs) most = std::max(most, cost.*amount);
  return most;
}

Table cost_table(const std::vector<Cost>& costs) {
  const WorkUnit unit = work_unit(largest(costs, &Cost::flops));
  const WorkUnit finetune_unit = work_unit(largest(costs, &Cost::finetune_flops));
  Table table{
      fmt::format("Cost of pre-training and of one fine-tuning on each of {} tasks, and the "
                  "mean test score on them",
                  costs.front().systems.size()),
      {"model", "parameters", "pre-trainings", "tokens", fmt::format("pre-training {}", unit.name),
       "pre-training minutes", "other cells on such a device meanwhile",
       fmt::format("fine-tuning {}", finetune_unit.name), "fine-tuning minutes", "mean score"},
      {}};
  for (const Cost& cost : costs) {
    table.rows.push_back(
        {cost.model->name, grouped(cost.parameters), std::to_string(cost.pretrainings),
         short_count(cost.tokens), fixed(cost.flops / unit.flops, 1), fixed(cost.seconds / 60, 2),
         fixed(cost.beside, 1), fixed(cost.finetune_flops / finetune_unit.flops, 1),
         fixed(cost.finetune_seconds / 60, 2), share_text(mean_over_tasks(cost.systems))});
  }
  return table;
}

// The mean score of every model against what it cost, in units of `unit`.
std::string score_against(const std::vector<Cost>& costs, const std::string& x_label,
                          double (Cost::*amount)() const, double unit) {
  LineChart chart{.x_label = x_label, .y_label = "mean test score, percent", .lines = false};
  for (const Cost& cost : costs) {
    const Estimate score = mean_over_tasks(cost.systems);
    chart.series.push_back(
        {cost.model->name, {{(cost.*amount)() / unit, 100 * score.value, score_interval(score)}}});
  }
  return draw(chart);
}

// Every other model against the Transformer: FLOPs and mean score.
std::string cost_answer(const Context& context, const std::vector<Cost>& costs) {
  const auto baseline = std::ranges::find(costs, context.transformer(), &Cost::model);
  std::vector<std::string> texts;
  for (const Cost& cost : costs) {
    if (baseline == costs.end() || &cost == &*baseline || baseline->flops <= 0) continue;
    texts.push_back(fmt::format("{} {}, {}{}", cost.model->name,
                                fixed(cost.flops / baseline->flops, 2),
                                difference_text(mean_over_tasks(cost.systems, baseline->systems)),
                                luck_note(has_single_pretraining(cost.systems) ||
                                          has_single_pretraining(baseline->systems))));
  }
  if (texts.empty()) return "";
  return fmt::format(
      "Pre-training FLOPs relative to the Transformer's, and the difference of the mean score over "
      "{}: {}.",
      counted(std::ssize(baseline->systems), "task"), fmt::join(texts, "; "));
}

}  // namespace

Section cost_section(const Context& context) {
  Section section{"RQ3: quality against time and FLOPs; speed, memory and latency"};
  if (const auto costs = costs_of(context); !costs.empty()) {
    section.answer = cost_answer(context, costs);
    section.blocks.emplace_back(cost_table(costs));
    section.blocks.emplace_back(Paragraph{
        "Minutes are as they were in the study. A pre-training that shares its device with other "
        "cells is slower, so minutes compare only where the numbers of other cells are alike; "
        "FLOPs always do."});
    section.blocks.emplace_back(Plot{
        "score-time.svg",
        "Mean test score against training time, as it was beside the other cells.",
        score_against(costs, "minutes of pre-training and fine-tuning", &Cost::total_minutes, 1)});
    const WorkUnit unit = work_unit(largest(costs, &Cost::flops));
    section.blocks.emplace_back(
        Plot{"score-flops.svg", "Mean test score against training FLOPs.",
             score_against(costs, fmt::format("{} of pre-training and fine-tuning", unit.name),
                           &Cost::total_flops, unit.flops)});
  }
  section.add_answer(bench_answer(context.input.benches));
  for (Block& block : bench_blocks(context.input.benches))
    section.blocks.push_back(std::move(block));
  return section;
}

}  // namespace convseq::report
