#pragma once

#include <functional>

#include "convseq/infer/padded_ids.h"

namespace convseq {

struct LengthBatchOptions {
  int64_t max_rows = 64;
  int64_t max_tokens = 16'384;  // of a padded batch; one longer sequence is a batch of its own
  std::function<void(size_t rows)> on_batch = {};  // called after each, for a progress bar
};

// Numbers of sequences, those of similar length together so that little is padding, the longest
// first: what does not fit into memory fails at once.
std::vector<std::vector<size_t>> batches_by_length(const std::vector<TokenIds>& sequences,
                                                   const LengthBatchOptions& options);

}  // namespace convseq
