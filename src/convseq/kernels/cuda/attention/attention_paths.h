#pragma once

#include <cuda_runtime_api.h>

#include "convseq/kernels/attention.h"

namespace convseq::kernels {

// The gradient in one kernel, where one block can hold all queries of a head and there is no bias.
// Returns false, without doing anything, for other shapes.
bool attention_backward_of_few_queries(const AttentionShape& shape, const AttentionBackward& arrays,
                                       cudaStream_t stream);

// attention_step_cuda() where the keys are int8.
void attention_step_int8(const AttentionStepShape& shape, const AttentionStep& arrays,
                         cudaStream_t stream);

}  // namespace convseq::kernels
