#pragma once

#include <initializer_list>

#include "convseq/kernels/attention.h"
#include "convseq/kernels/conv.h"
#include "convseq/kernels/select_token.h"

// All that the kernels refuse. Each function throws an Error that names the op, the value and what
// is allowed. The definitions are in a .cpp file because nvcc does not compile fmt.
namespace convseq::kernels {

void check_attention(const AttentionShape& shape, std::initializer_list<const AttentionRows*> all);

void check_attention_step(const AttentionStepShape& shape, const AttentionStep& arrays);
void check_quantize_rows(const QuantizeShape& shape, const QuantizeRows& arrays);

void check_conv(const ConvShape& shape, const char* op);
void check_dynamic_taps(const ConvShape& shape, const DynamicTaps& taps, const char* op);

void check_select_token(const SelectTokenShape& shape);

// The same, and the limits of the CUDA kernels.
void check_glu_cuda(const ConvShape& shape, const char* op);  // batch, time and channels alone
void check_conv_cuda(const ConvShape& shape, const char* op);
void check_dynamic_taps_cuda(const ConvShape& shape, const DynamicTaps& taps, const char* op);

// The number of blocks of a launch, where one launch can have that many.
unsigned checked_grid(int64_t blocks, const char* op);

[[noreturn]] void fail_cuda(const char* op, const char* message);  // a CUDA call failed
[[noreturn]] void fail_shared_memory(const ConvShape& shape, const char* op, int64_t most_values);

// For the kernels of a build without nvcc, cuBLASLt or CUTLASS.
[[noreturn]] void fail_no_cuda(const char* op);
[[noreturn]] void fail_no_library(const char* op, const char* library);

}  // namespace convseq::kernels
