#include "convseq/ops/kernel/embedding.h"

#include <torch/types.h>

#include <limits>

#include "convseq/kernels/embedding.h"
#include "convseq/ops/embedding_function.h"
#include "convseq/ops/kernel/cuda_launch.h"

namespace convseq::ops {
namespace kernel {
namespace {

struct SortedIds {
  torch::Tensor values;  // [n] int32, ascending
  torch::Tensor order;   // [n] int64: the position of each in the ids
};

// The radix sort makes one pass per byte of an id, so ids are sorted in the shortest type.
SortedIds sorted(const torch::Tensor& ids, int64_t rows) {
  const bool is_short = rows <= std::numeric_limits<int16_t>::max();
  const auto [values, order] =
      at::sort(ids.flatten().to(is_short ? torch::kInt16 : torch::kInt32), /*stable=*/true,
               /*dim=*/0, /*descending=*/false);
  return {values.to(torch::kInt32), order};
}

// gradient[ids[i]] += dy[i], for `gradient` [rows,C] and `dy` [...,C].
void add_rows(const torch::Tensor& gradient, const torch::Tensor& ids, const torch::Tensor& dy) {
  if (dy.numel() == 0) return;
  const c10::DeviceGuard guard(gradient.device());
  const auto [values, order] = sorted(ids, gradient.size(0));
  const auto gradients = dy.contiguous();
  const kernels::EmbeddingShape shape{.type = kernel_type(gradient),
                                      .ids = ids.numel(),
                                      .rows = gradient.size(0),
                                      .channels = gradient.size(1)};
  const auto workspace =
      torch::empty({static_cast<int64_t>(kernels::embedding_backward_workspace_cuda(shape))},
                   gradient.options().dtype(torch::kUInt8));
  kernels::embedding_backward_cuda(shape,
                                   {.sorted = values.const_data_ptr<int32_t>(),
                                    .order = order.const_data_ptr<int64_t>(),
                                    .dy = gradients.const_data_ptr(),
                                    .table = gradient.mutable_data_ptr(),
                                    .workspace = workspace.mutable_data_ptr()},
                                   current_cuda_stream());
}

torch::Tensor gradient_of(const torch::Tensor& dy, const torch::Tensor& ids, int64_t rows) {
  const auto gradient = torch::zeros({rows, dy.size(-1)}, dy.options());
  add_rows(gradient, ids, dy);
  return gradient;
}

}  // namespace

torch::Tensor embedding(const torch::Tensor& table, const torch::Tensor& ids) {
  return EmbeddingFunction<gradient_of>::apply(table, ids);
}

}  // namespace kernel

bool has_embedding_kernel(const torch::Tensor& table) { return is_fp32_or_bf16_on_cuda(table); }

}  // namespace convseq::ops
