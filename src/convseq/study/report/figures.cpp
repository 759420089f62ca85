#include "convseq/study/report/figures.h"

#include <fmt/format.h>

#include <cmath>

namespace convseq::report {
namespace {

constexpr double kNoise = 1e-7;  // of the last digit shown; far above what summing adds

std::string marks_of(const Figure& figure) {
  std::string marks;
  if (figure.collapsed > 0) marks += fmt::format(" †{}", figure.collapsed);
  if (!figure.estimate.counts_runs) marks += " ‡";
  if (!figure.estimate.counts_examples) marks += " °";
  return marks;
}

std::string half_width(const Estimate& estimate) {
  const bool known = estimate.counts_runs || estimate.counts_examples;
  return known ? percent(estimate.half_width()) : kMissing;
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

std::string text_of(const Figure& figure) {
  const std::string seeds = figure.pretrainings > 0
                                ? fmt::format("{}/{}", figure.runs, figure.pretrainings)
                                : std::to_string(figure.runs);
  return fmt::format("{} ± {} ({}){}", percent(figure.estimate.value), half_width(figure.estimate),
                     seeds, marks_of(figure));
}

std::string difference_text(const Estimate& estimate) {
  return fmt::format("{} ± {}", with_sign(100 * estimate.value, 1), half_width(estimate));
}

Finding finding_of(const Estimate& difference) {
  if (!difference.counts_runs && !difference.counts_examples) return Finding::NoDifference;
  if (difference.interval.low > 0) return Finding::Higher;
  return difference.interval.high < 0 ? Finding::Lower : Finding::NoDifference;
}

std::string text_of(Finding finding) {
  if (finding == Finding::NoDifference) return "no difference beyond the interval";
  return finding == Finding::Higher ? "higher" : "lower";
}

}  // namespace convseq::report
