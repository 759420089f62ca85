#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "convseq/data/example.h"

namespace convseq {

struct BatchPlanOptions {
  int64_t tokens = 16384;      // budget per batch, with padding: rows · (source + target width)
  int64_t max_rows = 0;        // 0: as many as the budget holds
  int64_t pool_batches = 100;  // per pool that is sorted by length; more: less padding, less mixing
  uint64_t seed = 0;
  // Draws without RandomUse in the key, as the first version did: for runs that it started.
  bool unkeyed = false;
};

// Assigns the examples of an epoch to batches: shuffles them, sorts pools of them by length, ends a
// batch when the token budget is full, and shuffles the batches. The plan is a function of
// (lengths, options, epoch) alone. An example longer than the budget is a batch by itself; none is
// left out.
class BatchPlan {
 public:
  BatchPlan(std::span<const ExampleLengths> lengths, const BatchPlanOptions& options,
            int64_t epoch);

  const std::vector<std::vector<int64_t>>& batches() const { return batches_; }  // example numbers

 private:
  std::vector<std::vector<int64_t>> batches_;
};

}  // namespace convseq
