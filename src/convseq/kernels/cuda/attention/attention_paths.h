#pragma once

#include <cuda_runtime_api.h>

#include <type_traits>

#include "convseq/kernels/attention.h"

namespace convseq::kernels {

// The gradient in one kernel, where one block can hold all queries of a head and there is no bias.
// Returns false, without doing anything, for other shapes.
bool attention_backward_of_few_queries(const AttentionShape& shape, const AttentionBackward& arrays,
                                       cudaStream_t stream);

// Calls use(constant) with the channels per head, which has_attention_step_channels().
template <class Use>
void with_head_channels(int64_t channels, Use use) {
  if (channels == 32) return use(std::integral_constant<int, 32>{});
  if (channels == 64) return use(std::integral_constant<int, 64>{});
  use(std::integral_constant<int, 128>{});
}

// attention_step_cuda() where the keys are int8.
void attention_step_int8(const AttentionStepShape& shape, const AttentionStep& arrays,
                         cudaStream_t stream);

}  // namespace convseq::kernels
