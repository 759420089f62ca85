#pragma once

#include "convseq/kernels/cpu/infer/matmul_kernel.h"
#include "convseq/kernels/cpu/vector.h"

// The loops around the register tile of a matmul, and its epilogue.
namespace convseq::kernels::CONVSEQ_LEVEL {

// Columns [column, column + W) of a row; what lies beyond the range is not written.
template <int W>
CONVSEQ_INLINE void write_columns(const MatmulTask& task, int64_t row, int64_t column,
                                  Floats<W> y) {
  const MatmulOutput& output = task.output;
  float* to = output.data + row * output.stride + column;
  const float* residual = output.residual == nullptr
                              ? nullptr
                              : output.residual + row * output.residual_stride + column;
  if (column + W <= task.columns.end) {
    if (output.bias != nullptr) y += load<W>(output.bias + column);
    if (output.relu) y = y < 0.0F ? Floats<W>{} : y;
    if (residual != nullptr) y += load<W>(residual);
    store<W>(to, y);
    return;
  }
  for (int64_t i = 0; column + i < task.columns.end; ++i) {
    float value = y[i];
    if (output.bias != nullptr) value += output.bias[column + i];
    if (output.relu) value = value < 0 ? 0 : value;
    if (residual != nullptr) value += residual[i];
    to[i] = value;
  }
}

// Keeps a product from being fused with a later sum in some tiles and not in others.
template <int W>
CONVSEQ_INLINE Floats<W> rounded(Floats<W> product) {
#ifdef __x86_64__
  asm("" : "+x"(product));
#else
  asm("" : "+w"(product));
#endif
  return product;
}

// The same for int8: the int32 sums, as fp32, times the scales of row and columns. The scales of a
// matrix are padded to whole panels.
template <int W>
CONVSEQ_INLINE void write_scaled(const MatmulTask& task, int64_t row, int64_t column,
                                 Floats<W> sums) {
  const auto scales = task.row_scales[row] * load<W>(task.column_scales + column);
  write_columns<W>(task, row, column, rounded<W>(sums * scales));
}

// f(Number<n>) for the n of [1, N] that equals `count`.
template <int N, class F>
CONVSEQ_INLINE void with_count(int64_t count, const F& f) {
  if constexpr (N > 0) {
    if (count == N) return f(Number<N>{});
    with_count<N - 1>(count, f);
  }
}

// tile(Number<rows>, Number<panels>, row, column) over all rows and columns of the task. Few rows
// take several panels at once, so that there are enough independent sums. Rows are cut into blocks
// that stay in the L2 cache while the panels, each in the L1 cache, pass over them.
template <int Rows, int Panel, class Tile>
CONVSEQ_INLINE void for_tiles(const MatmulTask& task, int64_t row_bytes, const Tile& tile) {
  constexpr int64_t kBlockBytes = 256 * 1024;
  constexpr int kWide = 4;  // panels for few rows
  const int64_t block = larger<int64_t>(1, kBlockBytes / (row_bytes * Rows)) * Rows;
  for (int64_t first = 0; first < task.row_count; first += block) {
    const int64_t last = smaller(first + block, task.row_count);
    int64_t column = task.columns.begin;
    if (last - first <= Rows / 4) {
      for (; column + (kWide - 1) * Panel < task.columns.end; column += kWide * Panel) {
        with_count<Rows / 4>(last - first, [&](auto rows) CONVSEQ_LAMBDA {
          tile(rows, Number<kWide>{}, first, column);
        });
      }
    }
    for (; column < task.columns.end; column += Panel) {
      int64_t row = first;
      for (; row + Rows <= last; row += Rows) tile(Number<Rows>{}, Number<1>{}, row, column);
      with_count<Rows - 1>(last - row,
                           [&](auto rows) CONVSEQ_LAMBDA { tile(rows, Number<1>{}, row, column); });
    }
  }
}

}  // namespace convseq::kernels::CONVSEQ_LEVEL
