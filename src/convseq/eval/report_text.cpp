#include "convseq/eval/report_text.h"

#include <algorithm>
#include <tuple>

#include "convseq/text/characters.h"

namespace convseq {
namespace {

constexpr size_t kClassesInATable = 12;
constexpr size_t kConfusionsListed = 10;
constexpr size_t kLongestLabel = 18;

size_t width_of(const std::string& text) { return characters_of(text).size(); }

// Padded or cut to `width` characters (not bytes).
std::string padded(const std::string& text, size_t width) {
  const size_t length = width_of(text);
  if (length <= width) return text + std::string(width - length, ' ');
  return utf8_of(std::u32string_view(characters_of(text)).substr(0, width - 1)) + "…";
}

size_t label_width(const Report& report) {
  size_t width = 5;
  for (const ClassScore& each : report.classes) width = std::max(width, width_of(each.label));
  return std::min(width, kLongestLabel);
}

std::string class_table(const Report& report) {
  const size_t width = label_width(report);
  std::string text =
      fmt::format("\n  {}  precision  recall      f1  support", padded("class", width));
  for (const ClassScore& each : report.classes) {
    text += fmt::format("\n  {}  {:9.4f}  {:6.4f}  {:6.4f}  {:7}", padded(each.label, width),
                        each.precision, each.recall, each.f1, each.support);
  }
  return text;
}

int64_t count_in(const Confusion& confusion, const std::string& truth, const std::string& answer) {
  const auto row = confusion.find(truth);
  if (row == confusion.end()) return 0;
  const auto cell = row->second.find(answer);
  return cell == row->second.end() ? 0 : cell->second;
}

// A row per true label, a column per predicted label, and one for answers that are not labels.
std::string confusion_table(const Report& report) {
  constexpr size_t kColumn = 10;
  constexpr std::string_view kCorner = "true \\ answered";
  const size_t width = std::max(label_width(report), kCorner.size());
  std::string head = "\n  " + padded(std::string(kCorner), width), rows;
  for (const ClassScore& each : report.classes) {
    head += fmt::format("  {}", padded(each.label, kColumn));
  }
  bool all_labels = true;
  for (const ClassScore& truth : report.classes) {
    int64_t others = truth.support;
    for (const ClassScore& each : report.classes) {
      others -= count_in(report.confusion, truth.label, each.label);
    }
    all_labels = all_labels && others == 0;
  }
  if (!all_labels) head += "  no label";
  for (const ClassScore& truth : report.classes) {
    rows += "\n  " + padded(truth.label, width);
    int64_t others = truth.support;
    for (const ClassScore& each : report.classes) {
      const int64_t count = count_in(report.confusion, truth.label, each.label);
      others -= count;
      rows += fmt::format("  {:<{}}", count, kColumn);
    }
    if (!all_labels) rows += fmt::format("  {}", others);
    rows.erase(rows.find_last_not_of(' ') + 1);
  }
  return head.erase(head.find_last_not_of(' ') + 1) + rows;
}

std::string largest_confusions(const Report& report) {
  std::vector<std::tuple<int64_t, std::string, std::string>> mistakes;
  for (const auto& [truth, answers] : report.confusion) {
    for (const auto& [answer, count] : answers) {
      if (truth != answer) mistakes.emplace_back(-count, truth, answer);
    }
  }
  std::sort(mistakes.begin(), mistakes.end());
  std::string text;
  for (size_t i = 0; i < std::min(mistakes.size(), kConfusionsListed); ++i) {
    const auto& [count, truth, answer] = mistakes[i];
    text += fmt::format("\n  {:6} × {} answered as {}", -count, truth, padded(answer, 40));
    text.erase(text.find_last_not_of(' ') + 1);
  }
  return text.empty() ? "" : "\n  largest confusions:" + text;
}

}  // namespace

std::string describe(const std::string& title, const Report& report, const RowTotals& totals) {
  std::string text = title + ":";
  const auto line = [&](const std::string& name, double value, std::optional<Interval> interval) {
    text += fmt::format("\n  {:<18} {:.4f}", name, value);
    if (interval) text += fmt::format("  [{:.4f}, {:.4f}]", interval->low, interval->high);
  };
  for (const Score& score : report.scores) {
    line(std::string(name_of(score.metric)), score.value, score.interval);
  }
  if (report.majority) {
    line("majority share", report.majority->share, std::nullopt);
    text += fmt::format("  (always \"{}\")", report.majority->label);
  }
  if (report.tokens) {
    line("token NLL", report.tokens->total.mean(), report.tokens->mean_interval);
    line("token accuracy", report.tokens->total.accuracy(), std::nullopt);
  }
  for (const auto& [category, scores] : report.by_category) {
    line(category, scores.front().value, scores.front().interval);
  }
  if (!report.scores.empty()) {
    const int64_t count = report.scores.front().count;
    text += fmt::format("\n  {} example{}", count, count == 1 ? "" : "s");
  }
  if (const std::string rows = totals.describe(); !rows.empty()) text += "\n  " + rows;
  if (report.collapse) text += "\n  " + report.collapse->message();
  if (!report.classes.empty()) {
    const bool few = report.classes.size() <= kClassesInATable;
    text += "\n" + class_table(report);
    if (report.confusion.empty()) return text;
    text += few ? "\n" + confusion_table(report) : "\n" + largest_confusions(report);
  }
  return text;
}

}  // namespace convseq
