#include <fmt/format.h>
#include <fmt/ranges.h>

#include "convseq/study/report/sections/sections.h"

namespace convseq::report {

Table parts_table(const Context& context) {
  Table table{"Parts of the study: runs at the chosen learning rates",
              {"part", "shown in", "planned", "there", "models without runs"},
              {}};
  for (const Part& part : context.input.parts) {
    if (part.planned_runs == 0) continue;
    int64_t there = 0;
    std::vector<std::string> missing;
    for (const std::string& name : part.models) {
      const Model* model = context.input.model(name);
      int64_t runs = 0;
      for (const System& system : context.systems.all()) {
        if (system.part != part.name || system.model != name || !fits(system.size, model)) continue;
        runs += std::ssize(system.runs);
        if (!system.counts_collapsed) runs += std::ssize(system.collapsed);
      }
      there += runs;
      if (runs == 0) missing.push_back(name);
    }
    table.rows.push_back({part.name, fmt::format("{}", fmt::join(part.questions, ", ")),
                          grouped(part.planned_runs), grouped(there),
                          missing.empty() ? "none" : fmt::format("{}", fmt::join(missing, ", "))});
  }
  return table;
}

}  // namespace convseq::report
