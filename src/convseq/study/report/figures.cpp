#include "convseq/study/report/figures.h"

#include <fmt/format.h>

#include <cmath>

namespace convseq::report {
namespace {

constexpr double kNoise = 1e-7;  // of the last digit shown; far above what summing adds

// What the interval does not count.
std::string marks_of(const Estimate& estimate) {
  return fmt::format("{}{}", estimate.counts_runs ? "" : " ‡",
                     estimate.counts_examples ? "" : " °");
}

std::string half_width(const Estimate& estimate) {
  const bool known = estimate.counts_runs || estimate.counts_examples;
  return known ? percent(estimate.half_width()) : kMissing;
}

// An interval that is wider than the scale of shares says no more than that.
std::string share_half_width(const Estimate& estimate) {
  return estimate.half_width() > 0.5 ? ">50" : half_width(estimate);
}

}  // namespace

std::string fixed(double value, int digits) {
  if (!std::isfinite(value)) return kMissing;
  const double scale = std::pow(10.0, digits);
  const double rounded = std::floor(std::abs(value) * scale + 0.5 + kNoise);
  return fmt::format("{}{:.{}f}", value < 0 && rounded > 0 ? "−" : "", rounded / scale, digits);
}

std::string with_sign(double value, int digits) {
  const std::string text = fixed(value, digits);
  return value < 0 || text == fixed(0, digits) || text == kMissing ? text : "+" + text;
}

std::string percent(double share) { return fixed(100 * share, 1); }

std::string grouped(int64_t count) {
  std::string text = std::to_string(count);
  for (int64_t place = std::ssize(text) - 3; place > 0; place -= 3) {
    text.insert(static_cast<size_t>(place), ",");
  }
  return text;
}

std::string short_count(double count) {
  constexpr struct {
    double size;
    const char* letter;
  } kSizes[] = {{1e9, "B"}, {1e6, "M"}, {1e3, "k"}};
  for (const auto& [size, letter] : kSizes) {
    if (count >= size) return fixed(count / size, count >= 10 * size ? 0 : 1) + letter;
  }
  return fixed(count, 0);
}

WorkUnit work_unit(double largest_flops) {
  WorkUnit unit{1e9, "GFLOP"};
  for (const WorkUnit& larger :
       {WorkUnit{1e12, "TFLOP"}, WorkUnit{1e15, "PFLOP"}, WorkUnit{1e18, "EFLOP"}}) {
    if (largest_flops >= larger.flops) unit = larger;
  }
  return unit;
}

std::string text_of(const Figure& figure) {
  const std::string seeds = figure.pretrainings > 0
                                ? fmt::format("{}/{}", figure.runs, figure.pretrainings)
                                : std::to_string(figure.runs);
  const std::string collapsed = figure.collapsed > 0 ? fmt::format(" †{}", figure.collapsed) : "";
  return fmt::format("{} ± {} ({}){}{}", percent(figure.estimate.value),
                     share_half_width(figure.estimate), seeds, collapsed,
                     marks_of(figure.estimate));
}

std::string share_text(const Estimate& estimate) {
  return fmt::format("{} ± {}{}", percent(estimate.value), share_half_width(estimate),
                     marks_of(estimate));
}

std::string difference_text(const Estimate& estimate) {
  return fmt::format("{} ± {}{}", with_sign(100 * estimate.value, 1), half_width(estimate),
                     marks_of(estimate));
}

Finding finding_of(const Estimate& difference) {
  if (!difference.counts_runs && !difference.counts_examples) return Finding::Undecided;
  if (difference.interval.low > 0) return Finding::Higher;
  return difference.interval.high < 0 ? Finding::Lower : Finding::Undecided;
}

std::string text_of(Finding finding) {
  if (finding == Finding::Undecided) return "undecided";
  return finding == Finding::Higher ? "higher" : "lower";
}

}  // namespace convseq::report
