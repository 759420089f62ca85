#pragma once

#include <cuda_runtime_api.h>

#include "convseq/kernels/attention.h"

namespace convseq::kernels {

// The gradient in one kernel, where one block can hold all queries of a head and there is no bias.
// Returns false, without doing anything, for other shapes.
bool attention_backward_of_few_queries(const AttentionShape& shape, const AttentionBackward& arrays,
                                       cudaStream_t stream);

}  // namespace convseq::kernels
