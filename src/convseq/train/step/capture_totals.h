#pragma once

#include <cstdint>

namespace convseq {

// What captured steps have cost and saved so far.
struct CaptureTotals {
  int64_t captures = 0;
  double seconds = 0;    // spent on capturing
  int64_t bytes = 0;     // device memory that all graphs share
  int64_t replayed = 0;  // steps
  int64_t launched = 0;
};

}  // namespace convseq
