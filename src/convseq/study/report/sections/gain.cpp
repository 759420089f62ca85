#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "convseq/base/counted.h"
#include "convseq/study/report/paper_results.h"
#include "convseq/study/report/sections/comparison.h"

namespace convseq::report {
namespace {

std::string paper_gain(const Model& model, const std::string& task, const std::string& metric) {
  const auto before = paper_score(model.config.mixer, Start::Scratch, task, metric);
  const auto after = paper_score(model.config.mixer, Start::Pretrained, task, metric);
  return before && after && model.changes.empty() ? with_sign(*after - *before, 1) : kMissing;
}

Table gains_by_task(const Context& context, const std::vector<Comparison>& gains) {
  Table table{"Pre-trained against scratch, by task",
              {"task", "model", "scratch", "pre-trained", "gain", "pre-trained is",
               "the paper's gain", "runs"},
              {}};
  for (const std::string& task : context.tasks(kMainQuestions)) {
    for (const Comparison& each : gains) {
      const TaskPair* pair = each.on(task);
      if (pair == nullptr) continue;
      const System &after = *pair->first, &before = *pair->second;
      for (const std::string& metric : shown_metrics(after)) {
        if (!has(before, {metric})) continue;
        const Estimate gain = difference_of(after, before, {metric});
        table.rows.push_back({task_title(task, after, metric), each.model->name,
                              text_of(figure_of(before, {metric})),
                              text_of(figure_of(after, {metric})), difference_text(gain),
                              text_of(finding_of(gain)), paper_gain(*each.model, task, metric),
                              TableCell("", run_links({&before, &after}))});
      }
    }
  }
  return table;
}

// Where the main metric leaves the gain undecided and another one does not: accuracy says little
// about a task with few positive examples.
std::string decided_by_others(const std::vector<Comparison>& gains) {
  std::vector<std::string> texts;
  for (const Comparison& gain : gains) {
    for (const TaskPair& pair : gain.pairs) {
      const auto metrics = shown_metrics(*pair.first);
      if (finding_of(*difference_to(*pair.first, pair.second)) != Finding::Undecided) continue;
      for (size_t i = 1; i < metrics.size(); ++i) {
        if (!has(*pair.second, {metrics[i]})) continue;
        const Estimate other = difference_of(*pair.first, *pair.second, {metrics[i]});
        if (finding_of(other) == Finding::Undecided) continue;
        texts.push_back(fmt::format("{} on {}, {} {}", gain.model->name, pair.task, metrics[i],
                                    difference_text(other)));
      }
    }
  }
  if (texts.empty()) return "";
  return fmt::format(
      "Undecided by the main metric, but not by another (not corrected for the further metrics): "
      "{}.",
      fmt::join(texts, "; "));
}

Plot gain_plot(const Context& context, const std::vector<Comparison>& gains) {
  IntervalChart chart{.x_label = "gain from pre-training, points", .zero_line = true};
  const auto models = context.models(kMainQuestions);
  for (const Model* model : models) chart.series.push_back(model->name);
  for (const std::string& task : context.tasks(kMainQuestions)) {
    IntervalChart::Row row{task};
    for (const Comparison& each : gains) {
      const TaskPair* pair = each.on(task);
      if (pair == nullptr) continue;
      const Measure measure{main_metric(*pair->first)};
      const Estimate gain = difference_of(*pair->first, *pair->second, measure);
      const double scratch = figure_of(*pair->second, measure).estimate.value;
      IntervalChart::Mark mark{
          .series = static_cast<size_t>(std::find(models.begin(), models.end(), each.model) -
                                        models.begin()),
          .value = 100 * gain.value,
          .interval = in_percent(gain.interval)};
      for (const double score : scores_by_run(*pair->first, measure.metric)) {
        mark.seeds.push_back(score - 100 * scratch);
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

// "light +1.0 ± 0.5 against scratch and −2.1 ± 0.6 against the corpus (3 tasks; one pre-training
// only)"
std::string own_text_answer(const Context& context) {
  std::vector<std::string> texts;
  for (const Model* model : context.models({"self"})) {
    std::vector<const System*> own, scratch, corpus;
    for (const std::string& task : context.tasks({"self"})) {
      const System* system = context.systems.find(model->name, Start::Self, task, {"self"});
      const System* before = context.find(*model, Start::Scratch, task);
      const System* other = context.find(*model, Start::Pretrained, task);
      if (system == nullptr || before == nullptr || other == nullptr) continue;
      own.push_back(system);
      scratch.push_back(before);
      corpus.push_back(other);
    }
    if (own.empty()) continue;
    texts.push_back(
        fmt::format("{} {} against scratch and {} against the corpus ({}{})", model->name,
                    difference_text(mean_over_tasks(own, scratch)),
                    difference_text(mean_over_tasks(own, corpus)), counted(std::ssize(own), "task"),
                    luck_text(has_single_pretraining(own) || has_single_pretraining(corpus))));
  }
  if (texts.empty()) return "";
  return fmt::format("{}: {}.", sentence_start_of(Start::Self), fmt::join(texts, "; "));
}

}  // namespace

Section gain_section(const Context& context) {
  Section section{"RQ1: does pre-training help convolutions?"};
  if (const auto by_model = pretraining_gains(context); !by_model.empty()) {
    std::vector<std::string> texts;
    for (const Comparison& gain : by_model) texts.push_back(gain_text(gain));
    section.answer = fmt::format("Pre-training helps {}.", fmt::join(texts, "; "));
    section.add_answer(decided_by_others(by_model));
    section.blocks.emplace_back(comparison_table("Pre-trained against scratch over all tasks",
                                                 "mean gain", by_model,
                                                 context.tasks(kMainQuestions).size()));
    section.blocks.emplace_back(gain_plot(context, by_model));
    section.blocks.emplace_back(gains_by_task(context, by_model));
  }
  Table self = self_pretraining(context);
  if (self.rows.empty()) return section;
  section.add_answer(own_text_answer(context));
  section.blocks.emplace_back(std::move(self));
  return section;
}

}  // namespace convseq::report
