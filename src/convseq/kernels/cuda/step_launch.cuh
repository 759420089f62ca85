#pragma once

#include "convseq/kernels/cuda/common.cuh"

// What the launches of a decoding step have in common.
namespace convseq::kernels {

inline bool is_capturing(cudaStream_t stream) {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  check_cuda(cudaStreamIsCapturing(stream, &status), "stream");
  return status != cudaStreamCaptureStatusNone;
}

// The largest carve-out of shared memory: a multiprocessor that has to change its carve-out between
// two kernels cannot run blocks of both, and the next kernel's blocks would prefetch nothing.
template <class Kernel>
void prefer_shared_memory(Kernel kernel) {
  check_cuda(cudaFuncSetAttribute(kernel, cudaFuncAttributePreferredSharedMemoryCarveout,
                                  cudaSharedmemCarveoutMaxShared),
             "carve-out");
}

}  // namespace convseq::kernels
