#pragma once

#include <cuda_runtime_api.h>

namespace convseq::kernels {

// Whether what is launched on this stream becomes part of a graph.
bool is_capturing(cudaStream_t stream);

}  // namespace convseq::kernels
