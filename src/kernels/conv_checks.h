#pragma once

#include "convseq/kernels/conv.h"

// What the CUDA kernels refuse, in a file of its own: nvcc does not read fmt.
namespace convseq::kernels {

void check_sizes(const ConvShape& shape, const char* what);
void check_conv(const ConvShape& shape, const char* what);  // sizes, taps and heads

void check_taps(const ConvShape& shape, const DynamicTaps& taps, const char* what);

// The number of blocks of a launch, if one takes that many.
unsigned grid_of(int64_t blocks, const char* what);

[[noreturn]] void fail_cuda(const char* what, const char* message);
[[noreturn]] void fail_reach(const ConvShape& shape, const char* what, int64_t most);

}  // namespace convseq::kernels
