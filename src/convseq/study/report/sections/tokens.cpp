#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>

#include "convseq/study/report/sections/comparison.h"

namespace convseq::report {
namespace {

const std::vector<std::string> kTokenQuestions = {"tokens"};

// The budgets of one model on one task, those of the main comparison among them.
std::map<int64_t, const System*> budgets(const Context& context, const Model& model,
                                         const std::string& task) {
  std::map<int64_t, const System*> found;
  for (const System& system : context.systems.all()) {
    if (system.model != model.name || system.task != task || system.start != Start::Pretrained ||
        !fits(system.size, &model)) {
      continue;
    }
    for (const Part& part : context.input.parts) {
      const CellResult* pretraining = context.pretraining_of(system);
      const int64_t tokens = pretraining == nullptr ? 0 : pretraining->source_tokens;
      const bool shown = part.asks(kTokenQuestions) || part.asks(kMainQuestions);
      if (part.name == system.part && shown && tokens > 0) found.try_emplace(tokens, &system);
    }
  }
  return found;
}

// The models with several budgets on one task.
struct TokenCurve {
  const Model* model;
  const System* scratch;  // null: no scores
  std::map<int64_t, const System*> systems;

  // The smallest budget whose gain over scratch is beyond the interval, which of a single run does
  // not count its spread.
  std::string first_gain() const {
    if (scratch == nullptr) return fmt::format("{} (no scores from scratch)", kMissing);
    std::vector<const System*> tried;
    for (const auto& [tokens, system] : systems) {
      const Estimate gain = *difference_to(*system, scratch);
      if (!gain.counts_runs) continue;
      tried.push_back(system);
      if (finding_of(gain) != Finding::Higher) continue;
      return short_count(static_cast<double>(tokens)) + luck_note(has_single_pretraining({system}));
    }
    if (tried.empty()) return fmt::format("{} (single runs)", kMissing);
    return "none" + luck_note(has_single_pretraining(tried));
  }
};

std::vector<TokenCurve> curves_on(const Context& context, const std::string& task) {
  std::vector<TokenCurve> curves;
  for (const Model* model : context.models(kTokenQuestions)) {
    TokenCurve curve{model, context.find(*model, Start::Scratch, task),
                     budgets(context, *model, task)};
    if (curve.systems.size() > 1) curves.push_back(std::move(curve));
  }
  return curves;
}

void add_task(Section& section, const std::string& task, const std::vector<TokenCurve>& curves) {
  Table table{
      task, {"model", "tokens", "score", "gain over scratch", "pre-trained is", "runs"}, {}};
  LineChart chart{.x_label = "tokens of pre-training, millions",
                  .y_label = "test score, percent",
                  .log_x = true};
  for (const TokenCurve& curve : curves) {
    const std::string& name = curve.model->name;
    if (curve.scratch != nullptr) {
      table.rows.push_back({name, "0", text_of(figure_of(*curve.scratch)), kMissing, kMissing,
                            TableCell("", run_links({curve.scratch}))});
    }
    LineChart::Series series{name};
    for (const auto& [tokens, system] : curve.systems) {
      const auto count = static_cast<double>(tokens);
      std::vector<TableCell> row = {name, short_count(count), text_of(figure_of(*system))};
      add_difference(row, difference_to(*system, curve.scratch));
      row.emplace_back("", run_links({system}));
      table.rows.push_back(std::move(row));
      series.points.push_back(score_point(count / 1e6, *system));
    }
    chart.series.push_back(std::move(series));
  }
  section.blocks.emplace_back(std::move(table));
  section.blocks.emplace_back(Plot{
      plot_file(fmt::format("tokens-{}.svg", task)),
      fmt::format("{}: test score against pre-training tokens; small points are the seeds.", task),
      draw(chart)});
}

// Where the whole pre-training has not helped beyond the interval, a reader looks for smaller
// budgets.
std::string without_gain(const Context& context) {
  std::vector<std::string> pairs, missing;
  for (const Comparison& gain : pretraining_gains(context)) {
    for (const auto* tasks : {&gain.lower, &gain.undecided}) {
      for (const std::string& task : *tasks) {
        pairs.push_back(fmt::format("{} on {}", gain.model->name, task));
        if (budgets(context, *gain.model, task).size() < 2) missing.push_back(pairs.back());
      }
    }
  }
  if (pairs.empty()) return "";
  return fmt::format("No gain beyond the interval (RQ1): {}.{}", fmt::join(pairs, ", "),
                     missing.empty() ? ""
                                     : fmt::format(" Of these without scores at other budgets: {}.",
                                                   fmt::join(missing, ", ")));
}

}  // namespace

Section token_section(const Context& context) {
  Section section{"Tokens: score against pre-training tokens"};
  if (context.tasks(kTokenQuestions).empty()) return section;
  std::vector<std::string> texts;
  for (const std::string& task : context.tasks(kTokenQuestions)) {
    const auto curves = curves_on(context, task);
    if (curves.empty()) continue;
    add_task(section, task, curves);
    std::vector<std::string> firsts;
    for (const TokenCurve& curve : curves) {
      firsts.push_back(fmt::format("{} {}", curve.model->name, curve.first_gain()));
    }
    texts.push_back(fmt::format("{}: {}", task, fmt::join(firsts, ", ")));
  }
  if (!texts.empty()) {
    section.answer = fmt::format("Fewest tokens with a gain over scratch beyond the interval: {}.",
                                 fmt::join(texts, "; "));
  }
  section.add_answer(without_gain(context));
  return section;
}

}  // namespace convseq::report
