#pragma once

#include "convseq/kernels/matmul_instruction.h"

// What packing, quantisation and the matmul loops of an instruction set agree on.
namespace convseq::kernels {

enum class RowElement {
  Fp32,
  Fp32OfBf16,  // rounded to bf16, stored as fp32
  Bf16,
  Int8,
  Uint8,  // q + 128
};

struct MatmulFormat {
  int weight_bytes = 4;  // per weight
  // W is stored as [panel][inputs / group][outputs of the panel][group].
  int panel = 0;
  int group = 1;
  int input_multiple = 1;  // inputs are padded with zeros to a multiple of it
  RowElement element = RowElement::Fp32;
  // Int8: the magnitudes of two neighbouring weights of an output are at most this together.
  int largest_pair = 2 * 127;
  // Rows are stored as [rows / row_tile][inputs / row_group][row_tile][row_group]. With a tile of
  // one row that is row by row.
  int row_tile = 1;
  int row_group = 1;
  int instruction_rows = 1;  // rows that one instruction multiplies
};

// One call of the loops. The rows and the panels are padded as their format says.
struct MatmulTask {
  const std::byte* rows = nullptr;
  const float* row_scales = nullptr;
  int64_t row_count = 0;
  const std::byte* panels = nullptr;
  const float* column_scales = nullptr;
  const int32_t* column_starts = nullptr;  // −128 Σ q, per output: where sums of Uint8 rows begin
  int64_t inputs = 0;                      // with padding
  int64_t row_stride = 0;                  // values from one row to the next
  ColumnRange columns = {};
  MatmulOutput output = {};
  int64_t cache_bytes = 0;  // of the second level; the results do not depend on it
};

struct MatmulKernel {
  MatmulFormat format = {};
  void (*multiply)(const MatmulTask& task);
  MatmulInstruction instruction = {};
};

const MatmulKernel& matmul_kernel(WeightType type, CpuLevel level);

// The parts of packed rows.
struct RowBuffer {
  float* scales = nullptr;  // Int8 only, [rows]
  std::byte* rows = nullptr;
  int64_t inputs = 0;      // with padding
  int64_t row_stride = 0;  // values from one row to the next
  MatmulFormat format = {};
};
RowBuffer row_buffer(const PackedRows& rows);

}  // namespace convseq::kernels
