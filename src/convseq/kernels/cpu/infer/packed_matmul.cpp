#include "convseq/kernels/packed_matmul.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cmath>
#include <cstring>
#include <vector>

#include "convseq/base/machine.h"
#include "convseq/kernels/cpu/infer/matmul_kernel.h"
#include "convseq/kernels/cpu/infer/matmul_levels.h"

namespace convseq::kernels {
namespace {

int64_t round_up(int64_t value, int64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

int element_bytes(RowElement element) {
  switch (element) {
    case RowElement::Int8:
    case RowElement::Uint8:
      return 1;
    case RowElement::Bf16:
      return 2;
    default:
      return 4;
  }
}

// The parts of a packed matrix: the scales and the starts of an int8 one, then the panels.
struct MatrixLayout {
  int64_t inputs = 0, outputs = 0;  // with padding
  int64_t starts = 0, panels = 0;   // offsets in bytes; the scales are at 0
  int64_t bytes = 0;
};

MatrixLayout layout_of(const PackedMatrixShape& shape, const MatmulFormat& format) {
  MatrixLayout layout;
  layout.inputs = round_up(shape.inputs, format.input_multiple);
  layout.outputs = round_up(shape.outputs, format.panel);
  if (shape.type == WeightType::Int8) {
    layout.starts = round_up(layout.outputs * 4, kPackedAlignment);
    layout.panels = 2 * layout.starts;
  }
  layout.bytes = round_up(layout.panels + layout.inputs * layout.outputs * format.weight_bytes,
                          kPackedAlignment);
  return layout;
}

// Where weight [output, input] stands among the panels.
int64_t weight_index(const MatmulFormat& format, const MatrixLayout& layout, int64_t output,
                     int64_t input) {
  const int64_t panel = output / format.panel, group = input / format.group;
  return panel * format.panel * layout.inputs +
         (group * format.panel + output % format.panel) * format.group + input % format.group;
}

uint16_t bf16_bits(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  if (std::isnan(value)) return static_cast<uint16_t>(bits >> 16 | 0x40);
  return static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

template <class T>
void store(std::byte* to, int64_t index, T value) {
  std::memcpy(to + index * static_cast<int64_t>(sizeof value), &value, sizeof value);
}

template <class T>
T load(const std::byte* from, int64_t index) {
  T value;
  std::memcpy(&value, from + index * static_cast<int64_t>(sizeof value), sizeof value);
  return value;
}

float quantise(const float* weights, int64_t count, int8_t* to) {
  float largest = 0;
  for (int64_t i = 0; i < count; ++i) largest = std::max(largest, std::abs(weights[i]));
  float inverse = largest > 0 ? 127 / largest : 0;
  if (!std::isfinite(inverse)) inverse = 0;  // all are almost 0
  for (int64_t i = 0; i < count; ++i) {
    to[i] = static_cast<int8_t>(std::clamp(std::nearbyint(weights[i] * inverse), -127.0F, 127.0F));
  }
  return largest / 127;
}

// The scale that makes the magnitudes of each two neighbours at most `largest` together, over
// `scale`; 1 where they are.
float coarser_scale(const int8_t* weights, int64_t inputs, int largest) {
  int pair = 0;
  for (int64_t i = 0; i < inputs; i += 2) {
    pair = std::max(pair, std::abs(weights[i]) + (i + 1 < inputs ? std::abs(weights[i + 1]) : 0));
  }
  // Rounding adds at most a half to each.
  return pair <= largest ? 1 : static_cast<float>(pair) / static_cast<float>(largest - 1);
}

void store_quantised(const MatmulFormat& format, const MatrixLayout& layout, int64_t output,
                     const int8_t* weights, int64_t inputs, float scale, std::byte* packed) {
  const float coarser = coarser_scale(weights, inputs, format.largest_pair);
  scale *= coarser;
  int32_t sum = 0;
  for (int64_t i = 0; i < inputs; ++i) {
    const float weight_q = std::max(-127.0F, static_cast<float>(weights[i]));
    const auto weight = static_cast<int8_t>(std::nearbyint(weight_q / coarser));
    sum += weight;
    store(packed + layout.panels, weight_index(format, layout, output, i), weight);
  }
  store(packed, output, scale);
  store(packed + layout.starts, output, -128 * sum);
}

// Values from one row to the next, of rows that are not in tiles. Rows at multiples of 2 KB would
// share a few sets of the first-level cache.
int64_t row_stride(const MatmulFormat& format, int64_t inputs) {
  const int64_t bytes = element_bytes(format.element);
  const bool shares_sets = format.row_tile == 1 && inputs * bytes % 2048 == 0;
  return inputs + (shares_sets ? kPackedAlignment / bytes : 0);
}

int64_t row_scale_bytes(const PackedRowsShape& shape) {  // they stand before the rows
  return shape.type == WeightType::Int8 ? round_up(shape.rows * 4, kPackedAlignment) : 0;
}

}  // namespace

int64_t packed_bytes(const PackedMatrixShape& shape) {
  return layout_of(shape, matmul_kernel(shape.type, shape.level).format).bytes;
}

void pack_matrix(const PackedMatrixShape& shape, const float* weights, std::byte* packed) {
  const MatmulFormat& format = matmul_kernel(shape.type, shape.level).format;
  const MatrixLayout layout = layout_of(shape, format);
  std::memset(packed, 0, static_cast<size_t>(layout.bytes));
  std::vector<int8_t> quantised(static_cast<size_t>(shape.inputs));
  for (int64_t o = 0; o < shape.outputs; ++o) {
    const float* row = weights + o * shape.inputs;
    if (shape.type == WeightType::Int8) {
      const float scale = quantise(row, shape.inputs, quantised.data());
      store_quantised(format, layout, o, quantised.data(), shape.inputs, scale, packed);
      continue;
    }
    for (int64_t i = 0; i < shape.inputs; ++i) {
      const int64_t at = weight_index(format, layout, o, i);
      if (shape.type == WeightType::Fp32) store(packed, at, row[i]);
      if (shape.type == WeightType::Bf16) store(packed, at, bf16_bits(row[i]));
    }
  }
}

void pack_matrix(const PackedMatrixShape& shape, const int8_t* weights, const float* scales,
                 std::byte* packed) {
  assert(shape.type == WeightType::Int8);
  const MatmulFormat& format = matmul_kernel(shape.type, shape.level).format;
  const MatrixLayout layout = layout_of(shape, format);
  std::memset(packed, 0, static_cast<size_t>(layout.bytes));
  for (int64_t o = 0; o < shape.outputs; ++o) {
    store_quantised(format, layout, o, weights + o * shape.inputs, shape.inputs, scales[o], packed);
  }
}

void unpack_row(const PackedMatrix& matrix, int64_t output, float* to) {
  const MatmulFormat& format = matmul_kernel(matrix.shape.type, matrix.shape.level).format;
  const MatrixLayout layout = layout_of(matrix.shape, format);
  const std::byte* panels = matrix.data + layout.panels;
  for (int64_t i = 0; i < matrix.shape.inputs; ++i) {
    const int64_t at = weight_index(format, layout, output, i);
    switch (matrix.shape.type) {
      case WeightType::Fp32:
        to[i] = load<float>(panels, at);
        break;
      case WeightType::Bf16:
        to[i] = std::bit_cast<float>(uint32_t{load<uint16_t>(panels, at)} << 16);
        break;
      case WeightType::Int8:
        to[i] = static_cast<float>(load<int8_t>(panels, at)) * load<float>(matrix.data, output);
        break;
    }
  }
}

RowBuffer row_buffer(const PackedRows& rows) {
  const MatmulFormat& format = matmul_kernel(rows.shape.type, rows.shape.level).format;
  const int64_t inputs = round_up(rows.shape.inputs, format.input_multiple);
  return {.scales = reinterpret_cast<float*>(rows.data),
          .rows = rows.data + row_scale_bytes(rows.shape),
          .inputs = inputs,
          .row_stride = row_stride(format, inputs),
          .format = format};
}

int64_t packed_bytes(const PackedRowsShape& shape) {
  const MatmulFormat& format = matmul_kernel(shape.type, shape.level).format;
  const int64_t rows = round_up(shape.rows, format.row_tile);
  const int64_t stride = row_stride(format, round_up(shape.inputs, format.input_multiple));
  return round_up(row_scale_bytes(shape) + rows * stride * element_bytes(format.element),
                  kPackedAlignment);
}

int64_t instruction_rows(WeightType type, CpuLevel level) {
  return matmul_kernel(type, level).format.instruction_rows;
}

void packed_matmul(const PackedRows& rows, const PackedMatrix& matrix, const MatmulOutput& output) {
  packed_matmul(rows, matrix, output, {0, matrix.shape.outputs});
}

void packed_matmul(const PackedRows& rows, const PackedMatrix& matrix, const MatmulOutput& output,
                   const ColumnRange& columns) {
  const PackedMatrixShape& shape = matrix.shape;
  assert(rows.shape.inputs == shape.inputs && rows.shape.type == shape.type &&
         rows.shape.level == shape.level);
  assert(columns.begin % kMatmulColumns == 0 &&
         (columns.end % kMatmulColumns == 0 || columns.end == shape.outputs));
  if (rows.shape.rows == 0 || columns.begin >= columns.end) return;
  const MatmulKernel& kernel = matmul_kernel(shape.type, shape.level);
  const MatrixLayout layout = layout_of(shape, kernel.format);
  const RowBuffer buffer = row_buffer(rows);
  kernel.multiply({.rows = buffer.rows,
                   .row_scales = buffer.scales,
                   .row_count = rows.shape.rows,
                   .panels = matrix.data + layout.panels,
                   .column_scales = reinterpret_cast<const float*>(matrix.data),
                   .column_starts = reinterpret_cast<const int32_t*>(matrix.data + layout.starts),
                   .inputs = layout.inputs,
                   .row_stride = buffer.row_stride,
                   .columns = columns,
                   .output = output,
                   .cache_bytes = l2_cache_bytes()});
}

}  // namespace convseq::kernels
