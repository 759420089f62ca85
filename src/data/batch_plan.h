#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "convseq/data/objective/objective.h"

namespace convseq {

struct BatchPlanOptions {
  int64_t tokens = 16384;  // budget of a batch, padding counted: rows · (source + target width)
  int64_t max_rows = 0;    // 0: as many as the budget holds
  int64_t pool_batches = 100;  // sorted by length together; more: less padding, less mixing
  uint64_t seed = 0;
  // Draws without a word of RandomUse before the epoch, as plans once did: for runs that began so.
  bool unkeyed = false;
};

// Which examples stand in which batch of an epoch: shuffled, sorted by length within pools, cut
// where the token budget is full, and the batches shuffled. A function of (lengths, options, epoch)
// alone. An example longer than the budget is a batch by itself; none is left out.
class BatchPlan {
 public:
  BatchPlan(std::span<const ExampleLengths> lengths, const BatchPlanOptions& options,
            int64_t epoch);

  const std::vector<std::vector<int64_t>>& batches() const { return batches_; }  // example numbers
  double padding_share() const { return padding_share_; }  // of all places in all batches

 private:
  std::vector<std::vector<int64_t>> batches_;
  double padding_share_ = 0;
};

}  // namespace convseq
