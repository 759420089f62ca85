#include <fmt/format.h>
#include <fmt/ranges.h>

#include "convseq/study/report/paper_results.h"
#include "convseq/study/report/sections/comparison.h"

namespace convseq::report {
namespace {

Table paper_table(const Context& context) {
  Table table{
      "The paper's table: ours, and the printed figures below", {"start", "model", "whose"}, {}};
  for (const PaperColumn& column : paper_columns()) {
    table.header.push_back(fmt::format("{} ({})", column.title, column.task));
  }
  for (const Start start : {Start::Scratch, Start::Pretrained}) {
    for (const Model* model : context.models(kMainQuestions)) {
      if (!model->changes.empty()) continue;
      std::vector<TableCell> ours = {title_of(start), model->name, "ours"};
      std::vector<TableCell> printed = ours;
      printed[2].text = "paper";
      bool any = false, any_printed = false;
      for (const PaperColumn& column : paper_columns()) {
        const System* system = context.find(*model, start, column.task);
        const bool there = system != nullptr && has(*system, {column.metric});
        ours.emplace_back(there ? text_of(figure_of(*system, {column.metric})) : kMissing);
        const auto score = paper_score(model->config.mixer, start, column.task, column.metric);
        printed.emplace_back(score ? fixed(*score, 2) : kMissing);
        any = any || there;
        any_printed = any_printed || score;
      }
      if (any) table.rows.push_back(std::move(ours));
      if (any && any_printed) table.rows.push_back(std::move(printed));
    }
  }
  return table;
}

std::string paper_difference(const Model& model, Start start, const std::string& task,
                             const std::string& metric) {
  const auto ours = paper_score(model.config.mixer, start, task, metric);
  const auto attention = paper_score(MixerKind::Attention, start, task, metric);
  return ours && attention && model.changes.empty() ? with_sign(*ours - *attention, 2) : kMissing;
}

Table differences(const Context& context, const Model& transformer, Start start) {
  Table table{fmt::format("Against the Transformer, {}", title_of(start)),
              {"task", "model", "score", "Transformer", "difference", "the model is",
               "the paper's difference", "runs"},
              {}};
  for (const std::string& task : context.tasks(kMainQuestions)) {
    const System* theirs = context.find(transformer, start, task);
    if (theirs == nullptr) continue;
    for (const Model* model : context.models(kMainQuestions)) {
      const System* ours = context.find(*model, start, task);
      if (model == &transformer || ours == nullptr) continue;
      for (const std::string& metric : shown_metrics(*ours)) {
        if (!has(*theirs, {metric})) continue;
        const Estimate difference = difference_of(*ours, *theirs, {metric});
        table.rows.push_back(
            {task_title(task, *ours, metric), model->name, text_of(figure_of(*ours, {metric})),
             text_of(figure_of(*theirs, {metric})), difference_text(difference),
             text_of(finding_of(difference)), paper_difference(*model, start, task, metric),
             TableCell("", run_links({ours, theirs}))});
      }
    }
  }
  return table;
}

// Every other model, on the tasks that it and the Transformer have.
std::vector<Comparison> against(const Context& context, const Model& transformer, Start start) {
  std::vector<Comparison> found;
  for (const Model* model : context.models(kMainQuestions)) {
    if (model == &transformer) continue;
    std::vector<TaskPair> pairs;
    for (const std::string& task : common_tasks(context, {model, &transformer}, start)) {
      pairs.push_back(
          {task, context.find(*model, start, task), context.find(transformer, start, task)});
    }
    if (!pairs.empty()) found.push_back(compare(*model, std::move(pairs)));
  }
  return found;
}

// A table per start, and the answer in words.
void add_summary(Section& section, const Context& context, const Model& transformer) {
  for (const Start start : {Start::Pretrained, Start::Scratch}) {
    const auto found = against(context, transformer, start);
    if (found.empty()) continue;
    std::vector<std::string> texts;
    for (const Comparison& each : found) texts.push_back(standing_text(each));
    section.add_answer(fmt::format("{} against the Transformer: {}.", sentence_start_of(start),
                                   fmt::join(texts, "; ")));
    section.blocks.emplace_back(
        comparison_table(fmt::format("Against the Transformer over all tasks, {}", title_of(start)),
                         "mean difference", found, context.tasks(kMainQuestions).size()));
  }
}

Plot score_plot(const Context& context) {
  IntervalChart chart{.x_label = "test score after pre-training, percent"};
  const auto models = context.models(kMainQuestions);
  for (const Model* model : models) chart.series.push_back(model->name);
  for (const std::string& task : context.tasks(kMainQuestions)) {
    IntervalChart::Row row{task};
    for (size_t i = 0; i < models.size(); ++i) {
      const System* system = context.find(*models[i], Start::Pretrained, task);
      if (system == nullptr) continue;
      const Estimate estimate = figure_of(*system).estimate;
      row.marks.push_back({.series = i,
                           .value = 100 * estimate.value,
                           .interval = score_interval(estimate),
                           .seeds = scores_by_run(*system, main_metric(*system))});
    }
    if (!row.marks.empty()) chart.rows.push_back(std::move(row));
  }
  return {"scores.svg",
          "Test scores after pre-training: means with 95% intervals; small points are "
          "the seeds.",
          chart.rows.empty() ? "" : draw(chart)};
}

}  // namespace

Section paper_section(const Context& context) {
  Section section{"RQ2: are pre-trained convolutions competitive with the Transformer?"};
  const Model* transformer = context.transformer();
  if (transformer != nullptr) add_summary(section, context, *transformer);
  if (Table table = paper_table(context); !table.rows.empty()) {
    section.blocks.emplace_back(std::move(table));
    section.blocks.emplace_back(Paragraph{
        "The paper prints one run of models with about 230 million parameters, without seeds or "
        "intervals. Under each heading stands the task of ours that comes closest; test sets and "
        "definitions of the positive class differ, so compare differences, not levels."});
  }
  if (transformer == nullptr) return section;
  if (Plot plot = score_plot(context); !plot.svg.empty())
    section.blocks.emplace_back(std::move(plot));
  for (const Start start : {Start::Pretrained, Start::Scratch}) {
    Table table = differences(context, *transformer, start);
    if (!table.rows.empty()) section.blocks.emplace_back(std::move(table));
  }
  return section;
}

}  // namespace convseq::report
