#include "convseq/ops/select_token.h"

#include <torch/types.h>

#include "convseq/base/error.h"
#include "convseq/ops/kernel/select_token.h"
#include "convseq/ops/reference/select_token.h"

namespace convseq::ops {

TokenSelection start_selection(int64_t batch, int64_t capacity, int64_t start, int64_t pad,
                               torch::Device device) {
  const auto integers = torch::TensorOptions(device).dtype(torch::kInt64);
  return {.ids = torch::full({batch, capacity}, pad, integers),
          .log_probabilities = torch::zeros({batch, capacity}, integers.dtype(torch::kFloat32)),
          .lengths = torch::zeros({batch}, integers),
          .ended = torch::zeros({batch}, integers.dtype(torch::kBool)),
          .next = torch::full({batch, 1}, start, integers)};
}

void select_token(const torch::Tensor& logits, const SelectTokenOptions& options,
                  TokenSelection& selection) {
  const auto rows = logits.flatten(0, -2);
  require(rows.size(0) == selection.ids.size(0) && rows.size(1) > 0,
          "select_token: logits are {}; must be [{}, vocabulary]", c10::str(logits.sizes()),
          selection.ids.size(0));
  if (has_select_token_kernel(rows, selection)) {
    return kernel::select_token(rows, options, selection);
  }
  reference::select_token(rows, options, selection);
}

}  // namespace convseq::ops
