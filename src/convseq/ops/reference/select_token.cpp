#include "convseq/ops/reference/select_token.h"

#include <torch/types.h>

#include "convseq/ops/reference/precision.h"

namespace convseq::ops::reference {

void select_token(const torch::Tensor& logits, const SelectTokenOptions& options,
                  TokenSelection& selection) {
  const int64_t last = selection.capacity() - 1;
  const auto token = logits.argmax(-1, /*keepdim=*/true);  // [B,1], the first of equal ones
  const auto log_probability = torch::log_softmax(logits, -1, accumulate_type(logits))
                                   .gather(1, token)
                                   .to(selection.log_probabilities.scalar_type());
  const auto goes_on = selection.ended.logical_not() & (selection.lengths <= last);  // [B]
  const auto writes = goes_on.unsqueeze(1);
  const auto slot = selection.lengths.clamp_max(last).unsqueeze(1);
  const auto put = [&](const torch::Tensor& rows, const torch::Tensor& value) {
    rows.scatter_(1, slot, torch::where(writes, value, rows.gather(1, slot)));
  };
  put(selection.ids, token);
  put(selection.log_probabilities, log_probability);
  selection.lengths.add_(goes_on.to(torch::kInt64));
  selection.next.copy_(torch::where(writes, token, torch::full_like(token, options.pad)));
  selection.ended.logical_or_(goes_on & (token.squeeze(1) == options.eos));
}

}  // namespace convseq::ops::reference
