#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "convseq/study/report/chart.h"
#include "convseq/study/report/sections/sections.h"

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
  int64_t parameters = 0;
  int64_t pretrainings = 0;
  double tokens = 0, seconds = 0, flops = 0;
  double finetune_seconds = 0, finetune_flops = 0;

  double total_minutes() const { return (seconds + finetune_seconds) / 60; }
  double total_flops() const { return flops + finetune_flops; }
};

bool in_main_part(const Context& context, const CellResult& result) {
  for (const Part& part : context.input.parts) {
    if (!part.asks(kMainQuestions)) continue;
    if (std::find(result.parts.begin(), result.parts.end(), part.name) != result.parts.end()) {
      return true;
    }
  }
  return false;
}

Cost cost_of(const Context& context, const Model& model,
             const std::vector<const System*>& systems) {
  Cost cost;
  std::vector<double> tokens, seconds, flops;
  for (const CellResult& result : context.input.results) {
    if (result.kind != CellKind::Pretrain || result.model != model.name || !result.failed.empty() ||
        result.start == Start::Self || !in_main_part(context, result) ||
        size_of(result) != size_of(model.config)) {
      continue;
    }
    tokens.push_back(static_cast<double>(result.source_tokens));
    seconds.push_back(result.seconds);
    flops.push_back(result.flops);
    cost.parameters = result.parameters;
  }
  cost.pretrainings = std::ssize(tokens);
  cost.tokens = mean(tokens);
  cost.seconds = mean(seconds);
  cost.flops = mean(flops);
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

}  // namespace

Section cost_section(const Context& context) {
  Section section{"RQ3: quality against time and FLOPs; speed, memory and latency"};
  const auto all = context.models(kMainQuestions);
  std::vector<const Model*> models;
  for (const Model* model : all) {
    if (!common_tasks(context, {model}, Start::Pretrained).empty()) models.push_back(model);
  }
  const auto tasks = common_tasks(context, models, Start::Pretrained);
  Table table{
      fmt::format("Cost of pre-training and of one fine-tuning on each of {} tasks, and the "
                  "mean test score on them",
                  tasks.size()),
      {"model", "parameters", "pre-trainings", "tokens", "pre-training minutes", "tokens/s",
       "pre-training PFLOP", "fine-tuning minutes", "fine-tuning PFLOP", "mean score"},
      {}};
  LineChart against_time{.x_label = "minutes of pre-training and fine-tuning",
                         .y_label = "mean test score, percent",
                         .lines = false};
  LineChart against_flops = against_time;
  against_flops.x_label = "PFLOP of pre-training and fine-tuning";
  for (const Model* model : models) {
    if (tasks.empty()) break;
    const auto systems = systems_on(context, *model, Start::Pretrained, tasks);
    const Cost cost = cost_of(context, *model, systems);
    if (cost.pretrainings == 0) continue;
    const Estimate score = mean_over_tasks(systems);
    table.rows.push_back(
        {model->name, grouped(cost.parameters), std::to_string(cost.pretrainings),
         grouped(std::llround(cost.tokens)), fixed(cost.seconds / 60, 2),
         grouped(std::llround(cost.tokens / std::max(cost.seconds, 1e-9))),
         fixed(cost.flops / 1e15, 1), fixed(cost.finetune_seconds / 60, 2),
         fixed(cost.finetune_flops / 1e15, 1),
         fmt::format("{} ± {}", percent(score.value), percent(score.half_width()))});
    const Interval interval = in_percent(score.interval);
    against_time.series.push_back(
        {model->name, {{cost.total_minutes(), 100 * score.value, interval}}});
    against_flops.series.push_back(
        {model->name, {{cost.total_flops() / 1e15, 100 * score.value, interval}}});
  }
  if (!table.rows.empty()) {
    section.blocks.emplace_back(std::move(table));
    section.blocks.emplace_back(Paragraph{
        "Minutes and tokens/s are as they were in the study, where cells may share a device and "
        "are then slower; compare models by FLOPs, or by the speeds below."});
    section.blocks.emplace_back(Plot{"score-time.svg",
                                     "Mean test score against training time, on the "
                                     "devices named in the table of runs.",
                                     draw(against_time)});
    section.blocks.emplace_back(
        Plot{"score-flops.svg", "Mean test score against training FLOPs.", draw(against_flops)});
  }
  for (Block& block : bench_blocks(context.input.benches))
    section.blocks.push_back(std::move(block));
  return section;
}

}  // namespace convseq::report
