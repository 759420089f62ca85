#include <fmt/format.h>

#include <algorithm>

#include "convseq/study/report/chart.h"
#include "convseq/study/report/paper_results.h"
#include "convseq/study/report/sections/sections.h"

namespace convseq::report {
namespace {

std::string paper_gain(const Model& model, const std::string& task, const std::string& metric) {
  const auto before = paper_score(model.config.mixer, Start::Scratch, task, metric);
  const auto after = paper_score(model.config.mixer, Start::Pretrained, task, metric);
  return before && after && model.changes.empty() ? with_sign(*after - *before, 1) : kMissing;
}

// One model and task under two starts.
struct Pair {
  const Model* model;
  const System *before, *after;
};

std::vector<Pair> pairs_on(const Context& context, const std::string& task) {
  std::vector<Pair> pairs;
  for (const Model* model : context.models(kMainQuestions)) {
    const System* before = context.find(*model, Start::Scratch, task);
    const System* after = context.find(*model, Start::Pretrained, task);
    if (before != nullptr && after != nullptr) pairs.push_back({model, before, after});
  }
  return pairs;
}

Table gains_by_task(const Context& context) {
  Table table{"Pre-trained against scratch, by task",
              {"task", "model", "scratch", "pre-trained", "gain", "pre-trained is",
               "the paper's gain", "runs"},
              {}};
  for (const std::string& task : context.tasks(kMainQuestions)) {
    for (const Pair& pair : pairs_on(context, task)) {
      for (const std::string& metric : shown_metrics(*pair.after)) {
        if (!has(*pair.before, {metric})) continue;
        const Estimate gain = difference_of(*pair.after, *pair.before, {metric});
        table.rows.push_back({task_title(task, *pair.after, metric), pair.model->name,
                              text_of(figure_of(*pair.before, {metric})),
                              text_of(figure_of(*pair.after, {metric})), difference_text(gain),
                              text_of(finding_of(gain)), paper_gain(*pair.model, task, metric),
                              TableCell("", run_links({pair.before, pair.after}))});
      }
    }
  }
  return table;
}

// The gain over all tasks by model, after one sentence over all models.
void add_summary(Section& section, const Context& context) {
  Table table{"The gain over all tasks", {"model", "tasks", "pre-trained is", "mean gain"}, {}};
  Tally all;
  for (const Model* model : context.models(kMainQuestions)) {
    Tally tally;
    std::vector<const System*> before, after;
    for (const std::string& task : context.tasks(kMainQuestions)) {
      const System* first = context.find(*model, Start::Scratch, task);
      const System* second = context.find(*model, Start::Pretrained, task);
      if (first == nullptr || second == nullptr) continue;
      before.push_back(first);
      after.push_back(second);
      tally.add(finding_of(*difference_to(*second, first)));
    }
    if (before.empty()) continue;
    all.add(tally);
    table.rows.push_back({model->name, std::to_string(before.size()), tally.text(),
                          difference_text(mean_over_tasks(after, before))});
  }
  section.blocks.emplace_back(Paragraph{
      fmt::format("Against scratch, pre-trained is {} pairs of model and task.", all.text())});
  section.blocks.emplace_back(std::move(table));
}

Plot gain_plot(const Context& context) {
  IntervalChart chart{.x_label = "gain from pre-training, points", .zero_line = true};
  const auto models = context.models(kMainQuestions);
  for (const Model* model : models) chart.series.push_back(model->name);
  for (const std::string& task : context.tasks(kMainQuestions)) {
    IntervalChart::Row row{task};
    for (const Pair& pair : pairs_on(context, task)) {
      const Measure measure{main_metric(*pair.after)};
      const Estimate gain = difference_of(*pair.after, *pair.before, measure);
      const double scratch = figure_of(*pair.before, measure).estimate.value;
      IntervalChart::Mark mark{
          .series = static_cast<size_t>(std::find(models.begin(), models.end(), pair.model) -
                                        models.begin()),
          .value = 100 * gain.value,
          .interval = in_percent(gain.interval)};
      for (const CellResult* run : pair.after->runs) {
        mark.seeds.push_back(100 * (run->splits.at("test").metric(measure.metric) - scratch));
      }
      row.marks.push_back(std::move(mark));
    }
    if (!row.marks.empty()) chart.rows.push_back(std::move(row));
  }
  return {"gain.svg",
          "Gain from pre-training on the test sets: means with 95% intervals; small points are the "
          "pre-trained seeds against the mean of scratch.",
          draw(chart)};
}

// Pre-training on the task's own text, against scratch and against the corpus.
Table self_pretraining(const Context& context) {
  Table table{"Pre-training on the task's own text",
              {"task", "model", "own text", "against scratch", "own text is", "against the corpus",
               "own text is", "runs"},
              {}};
  for (const std::string& task : context.tasks({"self"})) {
    for (const Model* model : context.models({"self"})) {
      const System* own = context.systems.find(model->name, Start::Self, task, {"self"});
      if (own == nullptr) continue;
      std::vector<TableCell> row = {task, model->name, text_of(figure_of(*own))};
      std::vector<const System*> others;
      for (const Start start : {Start::Scratch, Start::Pretrained}) {
        others.push_back(context.find(*model, start, task));
        add_difference(row, difference_to(*own, others.back()));
      }
      row.emplace_back("", run_links({own, others[0], others[1]}));
      table.rows.push_back(std::move(row));
    }
  }
  return table;
}

}  // namespace

Section gain_section(const Context& context) {
  Section section{"RQ1: does pre-training help convolutions?"};
  Table by_task = gains_by_task(context);
  if (!by_task.rows.empty()) {
    add_summary(section, context);
    section.blocks.emplace_back(gain_plot(context));
    section.blocks.emplace_back(std::move(by_task));
  }
  Table self = self_pretraining(context);
  if (!self.rows.empty()) section.blocks.emplace_back(std::move(self));
  return section;
}

}  // namespace convseq::report
