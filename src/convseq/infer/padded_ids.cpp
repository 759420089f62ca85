#include "convseq/infer/padded_ids.h"

#include <torch/types.h>

#include <algorithm>

namespace convseq {
namespace {

// The copy to a GPU does not wait for the work that was queued before it.
torch::Tensor upload(const torch::Tensor& host, torch::Device device) {
  return host.to(device, /*non_blocking=*/true);
}

}  // namespace

PaddedIds pad(const std::vector<TokenIds>& sequences, const PadOptions& options) {
  const auto rows = std::max(options.min_rows, std::ssize(sequences));
  const auto width = std::max(options.min_width, longest(sequences));
  auto ids = torch::full({rows, width}, options.pad_token, torch::kInt64);
  auto lengths = torch::ones({rows}, torch::kInt64);
  auto* id = ids.data_ptr<int64_t>();
  for (size_t row = 0; row < sequences.size(); ++row) {
    std::copy(sequences[row].begin(), sequences[row].end(), id + row * static_cast<size_t>(width));
    lengths.data_ptr<int64_t>()[row] = std::ssize(sequences[row]);
  }
  return {.ids = upload(ids, options.device), .lengths = {upload(lengths, options.device)}};
}

torch::Tensor token_positions(const std::vector<TokenIds>& sequences, const PaddedIds& padded,
                              int64_t min_count) {
  std::vector<int64_t> positions;
  for (size_t row = 0; row < sequences.size(); ++row) {
    const int64_t first = static_cast<int64_t>(row) * padded.width();
    for (int64_t i = 0; i < std::ssize(sequences[row]); ++i) positions.push_back(first + i);
  }
  const auto count = std::max(min_count, std::ssize(positions));
  positions.resize(static_cast<size_t>(count), padded.ids.numel());
  return upload(torch::tensor(positions, torch::kInt64), padded.ids.device());
}

int64_t longest(const std::vector<TokenIds>& sequences) {
  int64_t length = 0;
  for (const TokenIds& each : sequences) length = std::max(length, std::ssize(each));
  return length;
}

}  // namespace convseq
