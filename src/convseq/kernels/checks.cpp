#include "convseq/kernels/checks.h"

#include <climits>

#include "convseq/base/error.h"

namespace convseq::kernels {
namespace {

constexpr int64_t kMaxSize = INT_MAX >> 2;  // so that sums of two or three sizes still fit an int

}  // namespace

bool is_aligned_for_attention(const AttentionRows& rows) {
  return reinterpret_cast<uintptr_t>(rows.data) % 16 == 0 && rows.batch % 8 == 0 &&
         rows.head % 8 == 0 && rows.time % 8 == 0;
}

void check_attention(const AttentionShape& shape, std::initializer_list<const AttentionRows*> all) {
  constexpr int64_t kMaxPositions = INT32_MAX / 2;  // positions are counted in 32 bits
  require(shape.queries <= kMaxPositions && shape.keys <= kMaxPositions,
          "attention: {} queries and {} keys; at most {} of each", shape.queries, shape.keys,
          kMaxPositions);
  constexpr int64_t kMaxBlocks = 65'535;  // in the y and z dimensions of a grid
  require(shape.batch <= kMaxBlocks && shape.heads <= kMaxBlocks,
          "attention: {} rows of {} heads; at most {} of each; use a smaller batch", shape.batch,
          shape.heads, kMaxBlocks);
  require(shape.max_distance >= 0 && shape.max_distance <= kAttentionMaxDistance,
          "attention: max_distance of the bias is {}; must be in 0..{}", shape.max_distance,
          kAttentionMaxDistance);
  for (const AttentionRows* rows : all) {
    require(is_aligned_for_attention(*rows),
            "attention: rows at {} with strides {}, {} and {}; must be aligned to 16 bytes",
            rows->data, rows->batch, rows->head, rows->time);
  }
}

bool has_attention_step_channels(int64_t channels) {
  return channels == 32 || channels == 64 || channels == 128;
}

void check_attention_step(const AttentionStepShape& shape, const AttentionStep& arrays) {
  require(has_attention_step_channels(shape.channels),
          "attention_step: heads of {} channels; must be 32, 64 or 128", shape.channels);
  check_attention({.batch = shape.batch,
                   .heads = shape.heads,
                   .queries = 1,
                   .keys = shape.keys,
                   .max_distance = shape.max_distance},
                  {&arrays.q, &arrays.k, &arrays.v, &arrays.y, &arrays.new_k, &arrays.new_v});
  require((arrays.new_k.data == nullptr) == (arrays.new_v.data == nullptr) &&
              (arrays.new_k.data == nullptr || arrays.positions != nullptr),
          "attention_step: a new key needs a new value and a position");
  require((arrays.scales != nullptr) == shape.int8_keys,
          "attention_step: int8 keys have scales, others have none");
}

void check_quantize_rows(const QuantizeShape& shape, const QuantizeRows& arrays) {
  require(has_attention_step_channels(shape.channels),
          "quantize_rows: heads of {} channels; must be 32, 64 or 128", shape.channels);
  require(is_aligned_for_attention(arrays.x), "quantize_rows: rows are not aligned to 16 bytes");
  require(shape.batch <= kMaxSize && shape.heads <= kMaxSize && shape.time <= kMaxSize,
          "quantize_rows: {} rows of {} heads and {} positions; at most {} of each", shape.batch,
          shape.heads, shape.time, kMaxSize);
}

void check_conv(const ConvShape& shape, const char* op) {
  require(shape.batch >= 0 && shape.time >= 0 && shape.channels >= 0,
          "{}: input is [{}, {}, {}]; no size may be negative", op, shape.batch, shape.time,
          shape.channels);
  require(shape.kernel >= 1, "{}: kernel is {}; must be ≥ 1", op, shape.kernel);
  require(shape.dilation >= 1, "{}: dilation is {}; must be ≥ 1", op, shape.dilation);
  const int64_t reach = (shape.kernel - 1) * shape.dilation;
  require(shape.left >= 0 && shape.left <= reach,
          "{}: left is {}; must be in 0..{}, the reach of the taps", op, shape.left, reach);
  require(shape.heads >= 1 && shape.channels % shape.heads == 0,
          "{}: {} channels are not divisible by {} heads", op, shape.channels, shape.heads);
}

void check_dynamic_taps(const ConvShape& shape, const DynamicTaps& taps, const char* op) {
  const int64_t least = shape.heads * shape.kernel, stride = stride_of(shape, taps);
  require(stride >= least, "{}: stride of the taps is {}; must be ≥ {}", op, stride, least);
}

void check_select_token(const SelectTokenShape& shape) {
  constexpr int64_t kMostRows = 65'535;  // blocks in the y dimension of a grid
  require(shape.rows <= kMostRows, "select_token: {} rows; at most {}", shape.rows, kMostRows);
  require(shape.classes >= 1 && shape.classes <= kMaxSize,
          "select_token: {} classes; must be in 1..{}", shape.classes, kMaxSize);
}

void check_glu_cuda(const ConvShape& shape, const char* op) {
  for (const int64_t size : {shape.batch, shape.time, shape.channels}) {
    require(size >= 0 && size <= kMaxSize, "{}: input is [{}, {}, {}]; each size must be in 0..{}",
            op, shape.batch, shape.time, shape.channels, kMaxSize);
  }
}

void check_conv_cuda(const ConvShape& shape, const char* op) {
  check_glu_cuda(shape, op);
  require(shape.kernel <= 255, "{}: kernel is {}; must be in 1..255", op, shape.kernel);
  require(shape.dilation <= 1 << 20, "{}: dilation is {}; must be in 1..{}", op, shape.dilation,
          1 << 20);
  check_conv(shape, op);
}

void check_dynamic_taps_cuda(const ConvShape& shape, const DynamicTaps& taps, const char* op) {
  constexpr int64_t kMaxStride = kMaxSize / 64;  // offsets within a warp's reads fit an int
  check_dynamic_taps(shape, taps, op);
  require(stride_of(shape, taps) <= kMaxStride, "{}: stride of the taps is {}; must be ≤ {}", op,
          stride_of(shape, taps), kMaxStride);
}

unsigned checked_grid(int64_t blocks, const char* op) {
  require(blocks <= INT_MAX, "{}: {} thread blocks; at most {} per launch; use a smaller batch", op,
          blocks, INT_MAX);
  return static_cast<unsigned>(blocks);
}

void fail_cuda(const char* op, const char* message) { fail("{}: CUDA error: {}", op, message); }

void fail_shared_memory(const ConvShape& shape, const char* op, int64_t most_values) {
  fail("{}: kernel {} with dilation {} over {} positions; a thread block has room for {} values",
       op, shape.kernel, shape.dilation, shape.time, most_values);
}

void fail_no_cuda(const char* op) {
  fail("{}: this build has no CUDA kernels; build with nvcc, or use the CPU", op);
}

void fail_no_library(const char* op, const char* library) {
  fail("{}: this build has no {}; build with nvcc and libtorch's CUDA libraries", op, library);
}

}  // namespace convseq::kernels
