#include "convseq/infer/padded_ids.h"

#include <torch/types.h>

#include <algorithm>

namespace convseq {

PaddedIds pad(const std::vector<TokenIds>& sequences, const PadOptions& options) {
  const auto rows = static_cast<int64_t>(sequences.size());
  size_t width = 1;
  for (const TokenIds& each : sequences) width = std::max(width, each.size());
  auto ids = torch::full({rows, static_cast<int64_t>(width)}, options.pad_token, torch::kInt64);
  auto lengths = torch::empty({rows}, torch::kInt64);
  auto* id = ids.data_ptr<int64_t>();
  for (size_t row = 0; row < sequences.size(); ++row) {
    std::copy(sequences[row].begin(), sequences[row].end(), id + row * width);
    lengths.data_ptr<int64_t>()[row] = static_cast<int64_t>(sequences[row].size());
  }
  return {.ids = ids.to(options.device), .lengths = {lengths.to(options.device)}};
}

}  // namespace convseq
