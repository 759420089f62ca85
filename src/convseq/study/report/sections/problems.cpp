#include <fmt/format.h>

#include "convseq/study/report/sections/sections.h"

namespace convseq::report {
namespace {

std::string mean_of(System system, std::vector<const CellResult*> runs) {
  system.runs = std::move(runs);
  system.collapsed.clear();
  return system.runs.empty() ? kMissing : text_of(figure_of(system));
}

Table collapsed_runs(const Context& context) {
  Table table{"Collapsed runs: one constant answer to every test example",
              {"part", "model", "start", "task", "collapsed", "mean without them", "mean with them",
               "runs"},
              {}};
  for (const System& system : context.systems.all()) {
    if (system.collapsed.empty()) continue;
    std::vector<const CellResult*> others = system.runs;
    std::erase_if(others, is_collapsed);
    std::vector<const CellResult*> all = others;
    all.insert(all.end(), system.collapsed.begin(), system.collapsed.end());
    table.rows.push_back({system.part, system.model, title_of(system.start), system.task,
                          fmt::format("{} of {}", system.collapsed.size(), all.size()),
                          mean_of(system, others), mean_of(system, all),
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
