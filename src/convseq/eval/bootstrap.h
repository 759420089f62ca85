#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace convseq {

// Indices of examples; a resample contains some of them several times.
using Sample = std::span<const uint32_t>;
using Statistic = std::function<double(Sample)>;

struct Interval {
  double low = 0;
  double high = 0;
  bool operator==(const Interval&) const = default;
};

struct BootstrapOptions {
  int64_t resamples = 1000;  // 0: no intervals
  double confidence = 0.95;
  uint64_t seed = 0;
};

double on_all(const Statistic& statistic, size_t examples);

// Percentile intervals: each statistic over `examples` drawn with replacement, `resamples` times.
// Resample number r is the same for all statistics and in every run with the seed, so a difference
// of two systems' statistics is a paired bootstrap.
std::vector<Interval> bootstrap_intervals(const std::vector<Statistic>& statistics, size_t examples,
                                          const BootstrapOptions& options);

}  // namespace convseq
