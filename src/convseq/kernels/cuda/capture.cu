#include "convseq/kernels/cuda/capture.h"
#include "convseq/kernels/cuda/common.cuh"

namespace convseq::kernels {

bool is_capturing(cudaStream_t stream) {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  check_cuda(cudaStreamIsCapturing(stream, &status), "stream");
  return status != cudaStreamCaptureStatusNone;
}

}  // namespace convseq::kernels
