#pragma once

#include <functional>

#include "convseq/runtime/engine.h"

namespace convseq {

struct LengthBatchOptions {
  int64_t max_rows = 64;
  int64_t max_tokens = 16'384;  // of a padded batch; a longer sequence is a batch alone
  std::function<void(size_t rows)> on_batch = {};  // called after each, for a progress bar
};

// Batches of sequence indices. Sequences of similar length are together, so that little is padding;
// the longest come first, so that a batch that does not fit into memory fails at once.
std::vector<std::vector<size_t>> batches_by_length(const std::vector<TokenIds>& sequences,
                                                   const LengthBatchOptions& options);

}  // namespace convseq
