#include "convseq/eval/bootstrap.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "convseq/base/error.h"
#include "convseq/base/random.h"

namespace convseq {
namespace {

// Quantiles are interpolated linearly between two values, as in numpy.
double quantile(const std::vector<double>& sorted, double share) {
  const double place = share * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<size_t>(place);
  const size_t above = std::min(below + 1, sorted.size() - 1);
  return std::lerp(sorted[below], sorted[above], place - std::floor(place));
}

// The upper half of a product instead of a division, which would dominate the time. The bias,
// n/2^32, is far below what any number of resamples can show.
uint32_t draw(Random& random, size_t examples) {
  return static_cast<uint32_t>(uint64_t{random.bits32()} * examples >> 32);
}

}  // namespace

double on_all(const Statistic& statistic, size_t examples) {
  std::vector<uint32_t> every(examples);
  std::iota(every.begin(), every.end(), 0);
  return statistic(every);
}

std::vector<Interval> bootstrap_intervals(const std::vector<Statistic>& statistics, size_t examples,
                                          const BootstrapOptions& options) {
  require(examples > 0, "bootstrap: there is no example to draw from");
  require(options.resamples > 0, "bootstrap: {} resamples give no interval; at least 1",
          options.resamples);
  std::vector<std::vector<double>> values(statistics.size());
  std::vector<uint32_t> sample(examples);
  for (int64_t resample = 0; resample < options.resamples; ++resample) {
    Random random(options.seed, {static_cast<uint64_t>(resample)});
    for (uint32_t& drawn : sample) drawn = draw(random, examples);
    for (size_t i = 0; i < statistics.size(); ++i) values[i].push_back(statistics[i](sample));
  }
  std::vector<Interval> intervals;
  const double tail = (1 - options.confidence) / 2;
  for (auto& drawn : values) {
    std::sort(drawn.begin(), drawn.end());
    intervals.push_back({.low = quantile(drawn, tail), .high = quantile(drawn, 1 - tail)});
  }
  return intervals;
}

}  // namespace convseq
