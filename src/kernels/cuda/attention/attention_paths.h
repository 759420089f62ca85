#pragma once

#include <cuda_runtime_api.h>

#include "convseq/kernels/attention.h"

namespace convseq::kernels {

// The gradient by one kernel, where a block can have all queries of a head and there is no bias.
// False: nothing was done, the shape is another.
bool attention_backward_of_few_queries(const AttentionShape& shape, const AttentionBackward& arrays,
                                       cudaStream_t stream);

}  // namespace convseq::kernels
