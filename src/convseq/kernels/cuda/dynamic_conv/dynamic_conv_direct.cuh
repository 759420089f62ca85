#pragma once

#include "convseq/kernels/cuda/common.cuh"

// Dynamic convolutions of any shape, from global memory.
namespace convseq::kernels {

void direct_dynamic_forward(const ConvShape& shape, const DynamicConvForward& arrays,
                            cudaStream_t stream);
void direct_dynamic_backward(const ConvShape& shape, const DynamicConvBackward& arrays,
                             cudaStream_t stream);

}  // namespace convseq::kernels
