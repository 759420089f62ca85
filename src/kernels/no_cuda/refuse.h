#pragma once

#include "convseq/base/error.h"

namespace convseq::kernels {

// What the *_no_cuda.cpp files do instead.
[[noreturn]] inline void refuse(const char* what) {
  fail("{}: this build has no CUDA kernels; build where nvcc is", what);
}

}  // namespace convseq::kernels
