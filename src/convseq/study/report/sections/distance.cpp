#include <fmt/format.h>

#include <map>
#include <optional>

#include "convseq/spec/flops.h"
#include "convseq/study/report/sections/sections.h"

namespace convseq::report {
namespace {

// The synthetic families with a difficulty in the task's name.
struct Family {
  const char* name;
  const char* difficulty;
};
constexpr Family kFamilies[] = {{"long_range", "words between the two judgements"},
                                {"scope", "words between a negation and what it negates"},
                                {"pair", "facts to compare"},
                                {"span", "facts in the context"}};

std::optional<int64_t> difficulty_in(const std::string& task, const std::string& family) {
  if (!task.starts_with(family + "_")) return {};
  const std::string digits = task.substr(family.size() + 1);
  const bool number = !digits.empty() && digits.size() < 10 &&
                      digits.find_first_not_of("0123456789") == digits.npos;
  return number ? std::optional(std::stoll(digits)) : std::nullopt;
}

std::string field_of(const Model& model) {
  const auto field = receptive_field(model.config, Side::Encoder);
  return field ? std::to_string(*field) : "all";
}

const System* find_in(const Context& context, const Part& part, const Model& model, Start start,
                      const std::string& task) {
  for (const System& system : context.systems.all()) {
    if (system.part == part.name && system.model == model.name && system.task == task &&
        system.start == start && fits(system.size, &model)) {
      return &system;
    }
  }
  return nullptr;
}

void add_family(Section& section, const Context& context, const Part& part, const Family& family,
                Start start) {
  Table table{fmt::format("{}, part {}, {}", family.name, part.name, title_of(start)),
              {"model", "receptive field of the encoder, tokens"},
              {}};
  LineChart chart{.x_label = family.difficulty, .y_label = "test score, percent"};
  std::map<int64_t, std::string> tasks;
  for (const std::string& task : part.tasks) {
    if (const auto difficulty = difficulty_in(task, family.name)) tasks[*difficulty] = task;
  }
  chart.log_x = !tasks.empty() && tasks.begin()->first > 0;
  for (const auto& [difficulty, task] : tasks) table.header.push_back(std::to_string(difficulty));
  table.header.emplace_back("runs");
  for (const std::string& name : part.models) {
    const Model* model = context.input.model(name);
    if (model == nullptr) continue;
    std::vector<TableCell> row = {name, field_of(*model)};
    std::vector<const System*> shown;
    LineChart::Series series{name};
    for (const auto& [difficulty, task] : tasks) {
      const System* system = find_in(context, part, *model, start, task);
      if (system == nullptr) {
        row.emplace_back(kMissing);
        continue;
      }
      shown.push_back(system);
      row.emplace_back(text_of(figure_of(*system)));
      series.points.push_back(score_point(static_cast<double>(difficulty), *system));
    }
    if (shown.empty()) continue;
    row.emplace_back("", run_links(shown));
    table.rows.push_back(std::move(row));
    chart.series.push_back(std::move(series));
  }
  if (table.rows.empty()) return;
  const std::string caption = table.caption;
  section.blocks.emplace_back(std::move(table));
  if (tasks.size() < 2) return;
  section.blocks.emplace_back(
      Plot{plot_file(fmt::format("{}-{}-{}.svg", family.name, part.name, name_of(start))),
           fmt::format("Test score against {}: {}.", family.difficulty, caption), draw(chart)});
}

}  // namespace

Section distance_section(const Context& context) {
  Section section{"Accuracy against distance and receptive field"};
  for (const Family& family : kFamilies) {
    for (const Part& part : context.input.parts) {
      for (const Start start : {Start::Pretrained, Start::Scratch}) {
        add_family(section, context, part, family, start);
      }
    }
  }
  return section;
}

}  // namespace convseq::report
