#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>

#include "convseq/study/report/sections/sections.h"

namespace convseq::report {
namespace {

// A benchmark's quantity against length, by mixer: results named PREFIX_MIXER_LENGTH SUFFIX.
struct Quantity {
  const char* prefix;
  const char* suffix;
  const char* title;
  const char* x_label;
};

constexpr Quantity kTrainingStep = {"step", "_examples", "Training step: examples/s",
                                    "source tokens"};
constexpr Quantity kQuantities[] = {
    {"encoder", "_examples", "Encoder alone, forward and backward: examples/s", "source tokens"},
    kTrainingStep,
    {"step", "_peak_memory", "Training step: peak memory with the same tokens per step, GiB",
     "source tokens"},
    {"step", "_flops", "Training step: TFLOP per example", "source tokens"},
    {"decode", "", "Decoding: tokens/s", "position of the token"}};

struct BenchRow {
  std::string name, unit;
  double value = 0;
};

std::vector<BenchRow> rows_of(const BenchFile& file) {
  std::vector<BenchRow> rows;
  for (const Json& row : file.json.at("results")) {
    const auto is = [&](const char* key, bool (Json::*type)() const noexcept) {
      return row.is_object() && row.contains(key) && (row[key].*type)();
    };
    if (!is("value", &Json::is_number) || !is("name", &Json::is_string)) continue;
    rows.push_back({row["name"].get<std::string>(),
                    is("unit", &Json::is_string) ? row["unit"].get<std::string>() : "",
                    row["value"].get<double>()});
  }
  return rows;
}

std::optional<int64_t> length_in(const std::string& name, const std::string& start,
                                 const std::string& end) {
  if (!name.starts_with(start) || !name.ends_with(end)) return {};
  if (name.size() <= start.size() + end.size()) return {};
  const std::string digits = name.substr(start.size(), name.size() - start.size() - end.size());
  if (digits.find_first_not_of("0123456789") != digits.npos || digits.size() > 9) return {};
  return std::stoll(digits);
}

std::string significant(double value) {  // three digits
  if (value >= 100) return grouped(static_cast<int64_t>(std::floor(value + 0.5)));
  return fixed(value, value >= 10 ? 1 : value >= 1 ? 2 : 4);
}

LineChart chart_of(const std::vector<BenchRow>& rows, const Quantity& quantity) {
  LineChart chart{
      .x_label = quantity.x_label, .y_label = quantity.title, .log_x = true, .log_y = true};
  for (const auto& [kind, mixer] : kEnumNames<MixerKind>) {
    LineChart::Series series{std::string(mixer)};
    const std::string start = fmt::format("{}_{}_", quantity.prefix, mixer);
    std::map<int64_t, double> points;
    for (const BenchRow& row : rows) {
      if (const auto length = length_in(row.name, start, quantity.suffix))
        points[*length] = row.value;
    }
    for (const auto& [length, value] : points) {
      series.points.push_back({static_cast<double>(length), value});
    }
    if (!series.points.empty()) chart.series.push_back(std::move(series));
  }
  return chart;
}

Table table_of(const LineChart& chart, const std::string& caption) {
  Table table{caption, {chart.x_label}, {}};
  std::set<double> lengths;
  for (const auto& series : chart.series) {
    table.header.push_back(series.title);
    for (const auto& point : series.points) lengths.insert(point.x);
  }
  for (const double length : lengths) {
    std::vector<TableCell> row = {grouped(static_cast<int64_t>(length))};
    for (const auto& series : chart.series) {
      std::string shown = kMissing;
      for (const auto& point : series.points) {
        if (point.x == length) shown = significant(point.y);
      }
      row.emplace_back(shown);
    }
    table.rows.push_back(std::move(row));
  }
  return table;
}

// Of `bench cpu`: answers per second and the latency of a batch, but not what bounds them or what
// others reach.
bool is_answer(const BenchRow& row) {
  const bool answers = row.name.starts_with("cpu_") || row.name.starts_with("generate_");
  const bool rate = row.unit == "GOP/s";  // "cpu_light_int8_128_batch_32_of_smmla"
  return answers && !rate && !row.name.ends_with("_same_graph") && !row.name.ends_with("_peer");
}

Table cpu_table(const BenchFile& file) {
  Table table{
      fmt::format("Answers on a CPU ({})", file.name), {"measurement", "value", "unit"}, {}};
  for (const BenchRow& row : rows_of(file)) {
    if (!is_answer(row)) continue;
    table.rows.push_back({row.name, significant(row.value), row.unit});
  }
  return table;
}

using Series = LineChart::Series;

// How many times as fast as attention, at the shortest and at the longest length.
std::string speedup_text(const Series& series, const Series& attention) {
  return fmt::format("{} {} and {}", series.title,
                     fixed(series.points.front().y / attention.points.front().y, 2),
                     fixed(series.points.back().y / attention.points.back().y, 2));
}

bool same_lengths(const Series& a, const Series& b) {
  return std::equal(a.points.begin(), a.points.end(), b.points.begin(), b.points.end(),
                    [](const auto& first, const auto& second) { return first.x == second.x; });
}

}  // namespace

std::string bench_answer(const std::vector<BenchFile>& files) {
  std::string answer;
  for (const BenchFile& file : files) {
    const LineChart chart = chart_of(rows_of(file), kTrainingStep);
    const auto attention =
        std::ranges::find(chart.series, name_of(MixerKind::Attention), &Series::title);
    if (attention == chart.series.end()) continue;
    std::vector<std::string> texts;
    for (const Series& series : chart.series) {
      if (&series == &*attention || !same_lengths(series, *attention)) continue;
      texts.push_back(speedup_text(series, *attention));
    }
    if (texts.empty()) continue;
    answer += fmt::format(
        "{}Examples per second of a training step relative to attention, with {} and with {} "
        "source "
        "tokens ({}): {}.",
        answer.empty() ? "" : " ", grouped(std::llround(attention->points.front().x)),
        grouped(std::llround(attention->points.back().x)), file.name, fmt::join(texts, "; "));
  }
  return answer;
}

std::vector<Block> bench_blocks(const std::vector<BenchFile>& files) {
  std::vector<Block> blocks;
  for (const BenchFile& file : files) {
    const auto rows = rows_of(file);
    const size_t before = blocks.size();
    for (const Quantity& quantity : kQuantities) {
      const LineChart chart = chart_of(rows, quantity);
      if (chart.series.empty()) continue;
      const std::string caption = fmt::format("{} ({}, commit {})", quantity.title, file.name,
                                              file.json.value("commit", kMissing));
      const std::string stem = file.name.substr(0, file.name.find(".json"));
      blocks.emplace_back(table_of(chart, caption));
      blocks.emplace_back(Plot{fmt::format("{}-{}{}.svg", stem, quantity.prefix, quantity.suffix),
                               caption, draw(chart)});
    }
    if (Table table = cpu_table(file); !table.rows.empty()) blocks.emplace_back(std::move(table));
    if (blocks.size() == before || !file.json.contains("command")) continue;
    blocks.emplace_back(Paragraph{fmt::format("{} was measured on {} by: {}", file.name,
                                              file.json.value("machine", kMissing),
                                              file.json.value("command", kMissing))});
  }
  return blocks;
}

}  // namespace convseq::report
