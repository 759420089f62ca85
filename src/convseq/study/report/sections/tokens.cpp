#include <fmt/format.h>

#include <map>

#include "convseq/study/report/chart.h"
#include "convseq/study/report/sections/sections.h"

namespace convseq::report {
namespace {

const std::vector<std::string> kTokenQuestions = {"tokens"};

// The source tokens of the pre-training that a system starts from; 0: not known.
int64_t tokens_of(const Context& context, const System& system) {
  const Json& inputs = system.runs.front()->inputs;
  if (!inputs.is_object()) return 0;
  const std::string start = inputs.value("start", "");
  for (const CellResult& result : context.input.results) {
    if (result.kind == CellKind::Pretrain && result.id == start) return result.source_tokens;
  }
  return 0;
}

// The budgets of one model on one task, those of the main comparison among them.
std::map<int64_t, const System*> budgets(const Context& context, const Model& model,
                                         const std::string& task) {
  std::map<int64_t, const System*> found;
  for (const System& system : context.systems.all()) {
    if (system.model != model.name || system.task != task || system.start != Start::Pretrained ||
        (!system.size.empty() && system.size != size_of(model.config))) {
      continue;
    }
    for (const Part& part : context.input.parts) {
      const int64_t tokens = tokens_of(context, system);
      const bool shown = part.asks(kTokenQuestions) || part.asks(kMainQuestions);
      if (part.name == system.part && shown && tokens > 0) found.try_emplace(tokens, &system);
    }
  }
  return found;
}

}  // namespace

Section token_section(const Context& context) {
  Section section{"Score against pre-training tokens"};
  for (const std::string& task : context.tasks(kTokenQuestions)) {
    Table table{
        task, {"model", "tokens", "score", "gain over scratch", "pre-trained is", "runs"}, {}};
    LineChart chart{.x_label = "tokens of pre-training, millions",
                    .y_label = "test score, percent",
                    .log_x = true};
    for (const Model* model : context.models(kTokenQuestions)) {
      const System* scratch = context.find(*model, Start::Scratch, task);
      if (scratch != nullptr) {
        table.rows.push_back({model->name, "0", text_of(figure_of(*scratch)), kMissing, kMissing,
                              TableCell("", run_links({scratch}))});
      }
      LineChart::Series series{model->name};
      for (const auto& [tokens, system] : budgets(context, *model, task)) {
        const Figure figure = figure_of(*system);
        std::vector<TableCell> row = {model->name, grouped(tokens), text_of(figure)};
        add_difference(row, difference_to(*system, scratch));
        row.emplace_back("", run_links({system}));
        table.rows.push_back(std::move(row));
        series.points.push_back({static_cast<double>(tokens) / 1e6, 100 * figure.estimate.value,
                                 in_percent(figure.estimate.interval)});
      }
      if (!series.points.empty()) chart.series.push_back(std::move(series));
    }
    if (chart.series.empty()) continue;
    section.blocks.emplace_back(std::move(table));
    section.blocks.emplace_back(
        Plot{fmt::format("tokens-{}.svg", task),
             fmt::format("{}: test score against pre-training tokens.", task), draw(chart)});
  }
  return section;
}

}  // namespace convseq::report
