#include "convseq/answer/length_batches.h"

#include <algorithm>
#include <numeric>

#include "convseq/base/error.h"

namespace convseq {

std::vector<std::vector<size_t>> batches_by_length(const std::vector<TokenIds>& sequences,
                                                   const LengthBatchOptions& options) {
  require(options.max_rows >= 1, "batches: max_rows is {}; at least 1", options.max_rows);
  std::vector<size_t> order(sequences.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return sequences[a].size() > sequences[b].size(); });
  std::vector<std::vector<size_t>> batches;
  size_t capacity = 0;
  for (size_t number : order) {
    if (batches.empty() || batches.back().size() == capacity) {
      batches.emplace_back();
      const auto width = std::max<int64_t>(1, static_cast<int64_t>(sequences[number].size()));
      capacity =
          static_cast<size_t>(std::clamp<int64_t>(options.max_tokens / width, 1, options.max_rows));
    }
    batches.back().push_back(number);
  }
  return batches;
}

}  // namespace convseq
