#include "convseq/data/task/row_totals.h"

namespace convseq {

RowTotals& RowTotals::operator+=(const RowTotals& other) {
  rows += other.rows;
  skipped += other.skipped;
  dropped += other.dropped;
  sources_cut += other.sources_cut;
  targets_cut += other.targets_cut;
  return *this;
}

Json RowTotals::to_json() const {
  return {{"rows", rows},
          {"skipped", skipped},
          {"dropped", dropped},
          {"sources_cut", sources_cut},
          {"targets_cut", targets_cut}};
}

std::string RowTotals::describe() const {
  std::string text;
  const auto add = [&](int64_t count, std::string_view one, std::string_view several) {
    if (count == 0) return;
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, count == 1 ? one : several);
  };
  add(skipped, "bad row skipped", "bad rows skipped");
  add(dropped, "row dropped by the task", "rows dropped by the task");
  add(sources_cut, "source cut", "sources cut");
  add(targets_cut, "target cut", "targets cut");
  if (!text.empty()) text += fmt::format("; {} row{} used", rows, rows == 1 ? "" : "s");
  return text;
}

}  // namespace convseq
