#pragma once

#include "convseq/kernels/cuda/common.cuh"

// What the launches of a decoding step have in common.
namespace convseq::kernels {

inline bool is_capturing(cudaStream_t stream) {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  check_cuda(cudaStreamIsCapturing(stream, &status), "stream");
  return status != cudaStreamCaptureStatusNone;
}

}  // namespace convseq::kernels
