#include "convseq/ops/kernel/select_token.h"

#include <torch/types.h>

#include "convseq/kernels/select_token.h"
#include "convseq/ops/kernel/cuda_launch.h"

namespace convseq::ops {
namespace {

bool is_ready(const torch::Tensor& x, torch::Dtype type, torch::Device device) {
  return x.scalar_type() == type && x.device() == device && x.is_contiguous();
}

}  // namespace

bool has_select_token_kernel(const torch::Tensor& logits, const TokenSelection& selection) {
  const auto device = logits.device();
  return is_fp32_or_bf16_on_cuda(logits) && logits.stride(1) == 1 &&
         is_ready(selection.ids, torch::kInt64, device) &&
         is_ready(selection.log_probabilities, torch::kFloat32, device) &&
         is_ready(selection.lengths, torch::kInt64, device) &&
         is_ready(selection.ended, torch::kBool, device) &&
         is_ready(selection.next, torch::kInt64, device);
}

void kernel::select_token(const torch::Tensor& logits, const SelectTokenOptions& options,
                          TokenSelection& selection) {
  const c10::DeviceGuard guard(logits.device());
  kernels::select_token_cuda(
      {.type = kernel_type(logits),
       .rows = logits.size(0),
       .classes = logits.size(1),
       .stride = logits.stride(0),
       .capacity = selection.capacity(),
       .eos = options.eos,
       .pad = options.pad},
      {.logits = logits.const_data_ptr(),
       .ids = selection.ids.mutable_data_ptr<int64_t>(),
       .log_probabilities = selection.log_probabilities.mutable_data_ptr<float>(),
       .lengths = selection.lengths.mutable_data_ptr<int64_t>(),
       .ended = selection.ended.mutable_data_ptr<bool>(),
       .next = selection.next.mutable_data_ptr<int64_t>()},
      current_cuda_stream());
}

}  // namespace convseq::ops
