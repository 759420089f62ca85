#include "convseq/study/report/chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "convseq/study/report/markup.h"

namespace convseq::report {
namespace {

// Distinct for most readers with a colour-vision deficiency, and on light and dark ground.
constexpr const char* kColours[] = {"#3b7dd8", "#d9731a", "#2a9d6f", "#c2519c",
                                    "#8a6fd1", "#b0902c", "#4aa5b5", "#c4473a"};
constexpr double kWidth = 860, kLegend = 190;
constexpr double kLabels = 170;  // of rows; longer ones widen the chart

constexpr const char* kChartStyle =
    "<style>.chart text{font:12px system-ui,sans-serif;fill:#1a1a1a}.chart .axis{stroke:#888}"
    ".chart .grid{stroke:#8884}@media (prefers-color-scheme:dark){.chart text{fill:#e4e4e4}}"
    "</style>\n";

const char* colour_of(size_t series) { return kColours[series % std::size(kColours)]; }

// A tenth of a pixel: what the last bits of a sum may change does not show.
std::string at(double value) {
  return fmt::format("{:.1f}", std::round(10 * value + 1e-4) / 10 + 0.0);
}

std::string line(double x1, double y1, double x2, double y2, const std::string& style) {
  return fmt::format("<line x1=\"{}\" y1=\"{}\" x2=\"{}\" y2=\"{}\" {}/>\n", at(x1), at(y1), at(x2),
                     at(y2), style);
}

std::string text_at(double x, double y, const char* anchor, const std::string& text) {
  return fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"{}\">{}</text>\n", at(x), at(y), anchor,
                     escape_markup(text));
}

std::string dot(double x, double y, double radius, const char* colour, double opacity = 1) {
  return fmt::format("<circle cx=\"{}\" cy=\"{}\" r=\"{}\" fill=\"{}\" fill-opacity=\"{}\"/>\n",
                     at(x), at(y), at(radius), colour, at(opacity));
}

std::string stroke(const char* colour, double width) {
  return fmt::format("stroke=\"{}\" stroke-width=\"{}\"", colour, at(width));
}

// A range of values on a stretch of pixels, with round ticks.
class Axis {
 public:
  Axis(bool log, double from, double to) : log_(log), from_(from), to_(to) {}

  void include(double value) {
    if (!std::isfinite(value) || (log_ && value <= 0)) return;
    low_ = std::min(low_, value);
    high_ = std::max(high_, value);
  }

  void finish() {
    if (!(low_ <= high_)) low_ = log_ ? 1 : 0, high_ = log_ ? 10 : 1;
    if (low_ == high_) {
      low_ = log_ ? low_ / 2 : low_ - 1;
      high_ = log_ ? high_ * 2 : high_ + 1;
    }
    const double margin = 0.04 * (scaled(high_) - scaled(low_));
    start_ = scaled(low_) - margin;
    end_ = scaled(high_) + margin;
  }

  double place(double value) const {
    return from_ + (scaled(value) - start_) / (end_ - start_) * (to_ - from_);
  }

  std::vector<double> ticks() const { return log_ ? log_ticks() : linear_ticks(); }

 private:
  double scaled(double value) const { return log_ ? std::log2(value) : value; }

  std::vector<double> linear_ticks() const {
    const double rough = (end_ - start_) / 6;
    const double power = std::pow(10.0, std::floor(std::log10(rough)));
    double step = 10 * power;
    for (const double round : {1.0, 2.0, 5.0}) {
      if (round * power >= rough) {
        step = round * power;
        break;
      }
    }
    std::vector<double> found;
    for (double i = std::ceil(start_ / step); i * step <= end_; ++i) found.push_back(i * step);
    return found;
  }

  std::vector<double> log_ticks() const {
    const double step = std::max(1.0, std::ceil((end_ - start_) / 8));
    std::vector<double> found;
    for (double i = std::ceil(start_); i <= end_; i += step) found.push_back(std::exp2(i));
    return found;
  }

  bool log_;
  double from_, to_;
  double low_ = std::numeric_limits<double>::infinity(), high_ = -low_;
  double start_ = 0, end_ = 1;
};

std::string tick_text(double value) {
  return std::abs(value) < 1e-12 ? "0" : fmt::format("{:.6g}", value);
}

std::string open_svg(double width, double height, const std::string& label) {
  return fmt::format(
      "<svg class=\"chart\" xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" "
      "width=\"{0}\" height=\"{1}\" role=\"img\" aria-label=\"{2}\">\n{3}",
      at(width), at(height), escape_markup(label), kChartStyle);
}

std::string legend(double width, const std::vector<std::string>& titles) {
  std::string svg;
  for (size_t i = 0; i < titles.size(); ++i) {
    const double y = 24 + 18 * static_cast<double>(i);
    svg += dot(width - kLegend + 10, y - 4, 5, colour_of(i));
    svg += text_at(width - kLegend + 22, y, "start", titles[i]);
  }
  return svg;
}

std::string x_ticks(const Axis& axis, double top, double bottom) {
  std::string svg;
  for (const double tick : axis.ticks()) {
    const double x = axis.place(tick);
    svg += line(x, top, x, bottom, "class=\"grid\"");
    svg += text_at(x, bottom + 16, "middle", tick_text(tick));
  }
  return svg;
}

double label_width(const IntervalChart& chart) {
  constexpr double kLetter = 6.8;  // at 12 pixels, on average
  double width = kLabels;
  for (const auto& row : chart.rows) {
    width = std::max(width, 16 + kLetter * static_cast<double>(row.label.size()));
  }
  return width;
}

}  // namespace

std::string draw(const IntervalChart& chart) {
  constexpr double kTop = 12, kMark = 15, kGap = 12;
  const double left = label_width(chart), width = kWidth + left - kLabels;
  const double right = width - kLegend - 10;
  Axis axis(false, left, right);
  double height = kTop;
  for (const auto& row : chart.rows) {
    height += kMark * static_cast<double>(row.marks.size()) + kGap;
    for (const auto& mark : row.marks) {
      for (const double value : {mark.value, mark.interval.low, mark.interval.high}) {
        axis.include(value);
      }
      for (const double seed : mark.seeds) axis.include(seed);
    }
  }
  if (chart.zero_line) axis.include(0);
  axis.finish();
  const double legend_height = 30 + 18 * static_cast<double>(chart.series.size());
  const double bottom = height, whole = std::max(bottom + 44, legend_height);
  std::string svg = open_svg(width, whole, chart.x_label) + x_ticks(axis, kTop, bottom);
  if (chart.zero_line) svg += line(axis.place(0), kTop, axis.place(0), bottom, "class=\"axis\"");
  double y = kTop + kGap / 2;
  for (const auto& row : chart.rows) {
    const double middle = y + kMark * static_cast<double>(row.marks.size()) / 2;
    svg += text_at(left - 8, middle + 4, "end", row.label);
    for (const auto& mark : row.marks) {
      const double centre = y + kMark / 2;
      const char* colour = colour_of(mark.series);
      svg += line(axis.place(mark.interval.low), centre, axis.place(mark.interval.high), centre,
                  stroke(colour, 2));
      for (const double seed : mark.seeds) svg += dot(axis.place(seed), centre + 5, 2, colour, 0.7);
      svg += dot(axis.place(mark.value), centre, 3.5, colour);
      y += kMark;
    }
    y += kGap;
    svg += line(left, y - kGap / 2, right, y - kGap / 2, "class=\"grid\"");
  }
  svg += text_at((left + right) / 2, bottom + 36, "middle", chart.x_label);
  return svg + legend(width, chart.series) + "</svg>\n";
}

std::string draw(const LineChart& chart) {
  constexpr double kLeft = 76, kTop = 28, kBottom = 336, kHeight = 380;
  const double right = kWidth - kLegend - 10;
  Axis x_axis(chart.log_x, kLeft, right), y_axis(chart.log_y, kBottom, kTop);
  std::vector<std::string> titles;
  for (const auto& series : chart.series) {
    titles.push_back(series.title);
    for (const auto& point : series.points) {
      x_axis.include(point.x);
      y_axis.include(point.y);
      for (const double seed : point.seeds) y_axis.include(seed);
      if (!point.interval) continue;
      y_axis.include(point.interval->low);
      y_axis.include(point.interval->high);
    }
  }
  x_axis.finish();
  y_axis.finish();
  std::string svg = open_svg(kWidth, kHeight, chart.y_label) + x_ticks(x_axis, kTop, kBottom);
  for (const double tick : y_axis.ticks()) {
    svg += line(kLeft, y_axis.place(tick), right, y_axis.place(tick), "class=\"grid\"");
    svg += text_at(kLeft - 6, y_axis.place(tick) + 4, "end", tick_text(tick));
  }
  for (size_t i = 0; i < chart.series.size(); ++i) {
    // Intervals of several series at the same place stand beside each other.
    const bool has_intervals =
        !chart.series[i].points.empty() && chart.series[i].points[0].interval && chart.lines;
    const double middle = static_cast<double>(chart.series.size() - 1) / 2;
    const double dodge = has_intervals ? 4 * (static_cast<double>(i) - middle) : 0;
    std::string path;
    for (const auto& point : chart.series[i].points) {
      const double x = x_axis.place(point.x) + dodge, y = y_axis.place(point.y);
      path += fmt::format("{}{},{}", path.empty() ? "" : " ", at(x), at(y));
      if (point.interval) {
        svg += line(x, y_axis.place(point.interval->low), x, y_axis.place(point.interval->high),
                    stroke(colour_of(i), 1.5));
      }
      for (const double seed : point.seeds) {
        svg += dot(x + 4, y_axis.place(seed), 1.5, colour_of(i), 0.7);
      }
      if (chart.series[i].points.size() <= 20) svg += dot(x, y, 3, colour_of(i));
    }
    if (chart.lines && !path.empty()) {
      svg += fmt::format("<polyline points=\"{}\" fill=\"none\" {}/>\n", path,
                         stroke(colour_of(i), 1.5));
    }
  }
  svg += text_at((kLeft + right) / 2, kHeight - 8, "middle", chart.x_label);
  svg += text_at(4, 16, "start", chart.y_label);
  return svg + legend(kWidth, titles) + "</svg>\n";
}

}  // namespace convseq::report
