#include <fmt/format.h>

#include "convseq/study/report/sections/sections.h"

namespace convseq::report {
namespace {

// The mean with the collapsed runs in it, for comparison.
std::string mean_with_collapsed(const System& system) {
  System all = system;
  if (!system.all_collapsed) {
    all.runs.insert(all.runs.end(), system.collapsed.begin(), system.collapsed.end());
  }
  all.collapsed.clear();
  return text_of(figure_of(all));
}

Table collapsed_runs(const Context& context) {
  Table table{"Collapsed runs: one constant answer to every test example",
              {"part", "model", "start", "task", "collapsed", "mean as reported",
               "mean with collapsed runs", "runs"},
              {}};
  for (const System& system : context.systems.all()) {
    if (system.collapsed.empty()) continue;
    const size_t total =
        system.all_collapsed ? system.runs.size() : system.runs.size() + system.collapsed.size();
    table.rows.push_back({system.part, system.model, title_of(system.start), system.task,
                          fmt::format("{} of {}", system.collapsed.size(), total),
                          text_of(figure_of(system)), mean_with_collapsed(system),
                          TableCell("", run_links({&system}))});
  }
  return table;
}

Table failed_cells(const Context& context) {
  Table table{"Failed cells",
              {"cell", "kind", "model", "start", "task", "learning rate", "seed", "message"},
              {}};
  for (const CellResult& result : context.input.results) {
    if (result.failed.empty()) continue;
    table.rows.push_back({result.id.substr(0, 8), std::string(name_of(result.kind)), result.model,
                          std::string(name_of(result.start)), result.task,
                          fmt::format("{}", result.learning_rate), std::to_string(result.seed),
                          result.failed});
  }
  return table;
}

}  // namespace

Section problem_section(const Context& context) {
  Section section{"Collapsed runs and failed cells"};
  for (Table table : {collapsed_runs(context), failed_cells(context)}) {
    if (!table.rows.empty()) section.blocks.emplace_back(std::move(table));
  }
  return section;
}

}  // namespace convseq::report
