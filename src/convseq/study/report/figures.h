#pragma once

#include <string>

#include "convseq/eval/statistics/estimate.h"

namespace convseq::report {

inline constexpr const char* kMissing = "–";

// Rounded half up after what summing may have added in the last bits, so that the text is the same
// on every machine; kMissing for NaN.
std::string fixed(double value, int digits);
std::string with_sign(double value, int digits);  // "+1.2", "−0.4"
std::string percent(double share);                // "84.3"
std::string grouped(int64_t count);               // "600,000,000"
std::string short_count(double count);            // "600M", "2.0M"

// A unit in which the largest of some amounts of work has one to three digits before the point.
struct WorkUnit {
  double flops;
  const char* name;  // "PFLOP"
};
WorkUnit work_unit(double largest_flops);

// An estimate and what it stands on.
struct Figure {
  Estimate estimate = {};
  int64_t runs = 0;
  int64_t pretrainings = 0;  // 0: from scratch
  int64_t collapsed = 0;     // runs, which the mean may leave out
};

std::string text_of(const Figure& figure);              // "84.3 ± 1.2 (6/3)"
std::string share_text(const Estimate& estimate);       // "84.3 ± 1.2"
std::string difference_text(const Estimate& estimate);  // "+3.2 ± 1.1"

// What may be said of a difference: its interval excludes 0, or the sign is undecided.
enum class Finding { Lower, Undecided, Higher };
Finding finding_of(const Estimate& difference);
std::string text_of(Finding finding);

}  // namespace convseq::report
