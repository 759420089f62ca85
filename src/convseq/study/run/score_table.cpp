#include "convseq/study/run/score_table.h"

#include <map>
#include <tuple>

namespace convseq {
namespace {

struct Scores {
  double sum = 0;
  int64_t runs = 0, collapsed = 0;
};

std::string describe(const Scores& scores) {
  if (scores.runs == 0) return "–";
  const std::string collapsed =
      scores.collapsed > 0 ? fmt::format(", {} collapsed", scores.collapsed) : "";
  return fmt::format("{:.3f} ({}{})", scores.sum / static_cast<double>(scores.runs), scores.runs,
                     collapsed);
}

}  // namespace

std::string score_table(const std::vector<CellResult>& results) {
  using Row = std::tuple<std::string, std::string, std::string>;  // part, task, model
  std::map<Row, std::map<Start, Scores>> rows;
  for (const CellResult& result : results) {
    const auto test = result.splits.find("test");
    if (!result.chosen || test == result.splits.end()) continue;
    for (const std::string& part : result.parts) {
      Scores& scores = rows[{part, result.task, result.model}][result.start];
      scores.sum += test->second.metrics.front().second;
      ++scores.runs;
      scores.collapsed += test->second.collapsed ? 1 : 0;
    }
  }
  std::string text = fmt::format("{:<12} {:<22} {:<24}", "part", "task", "model");
  for (const auto& [start, name] : kEnumNames<Start>) text += fmt::format(" {:<24}", name);
  for (auto& [row, by_start] : rows) {
    const auto& [part, task, model] = row;
    text += fmt::format("\n{:<12} {:<22} {:<24}", part, task, model);
    for (const auto& entry : kEnumNames<Start>) {
      text += fmt::format(" {:<24}", describe(by_start[entry.first]));
    }
  }
  return text + "\nmean test score (runs at the learning rate chosen on validation)\n";
}

}  // namespace convseq
