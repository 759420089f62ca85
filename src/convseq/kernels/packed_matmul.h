#pragma once

#include <cstddef>
#include <cstdint>

#include "convseq/kernels/cpu_level.h"

// y = x Wᵀ on a CPU, for inference: W is packed once in the order in which the kernel of a CpuLevel
// reads it, the rows x for each matmul (row_ops.h). A row's result depends neither on the other
// rows nor on the columns that are computed with it, to the last bit.
namespace convseq::kernels {

enum class WeightType {
  Fp32,
  Bf16,  // activations are rounded to bf16 as well; the sums are fp32
  // Symmetric: one scale per output of W and one per row of x, |q| ≤ 127; exact int32 sums. With
  // AVX2 or AVX-512, but not VNNI, W's scale is so coarse that the magnitudes of each two
  // neighbours of an output are at most 128 together.
  Int8,
};

inline constexpr int64_t kPackedAlignment = 64;  // of packed data, in bytes
inline constexpr int64_t kMatmulColumns = 64;    // ranges of columns begin at a multiple of it

inline constexpr int64_t kMostInt8Inputs = 131'072;  // their sums fit into 32 bits

struct PackedMatrixShape {
  int64_t outputs = 0;
  int64_t inputs = 0;
  WeightType type = WeightType::Fp32;
  CpuLevel level = default_cpu_level();
};

struct PackedMatrix {
  PackedMatrixShape shape = {};
  const std::byte* data = nullptr;
};

int64_t packed_bytes(const PackedMatrixShape& shape);
// From W [outputs, inputs]; Int8 quantises it with scale = max|w| / 127 per output.
void pack_matrix(const PackedMatrixShape& shape, const float* weights, std::byte* packed);
// From quantised weights, |q| ≤ 127, and the scale of each output.
void pack_matrix(const PackedMatrixShape& shape, const int8_t* weights, const float* scales,
                 std::byte* packed);
// Row `output` of W, [inputs]: the embedding of a token where W is the tied output matrix.
void unpack_row(const PackedMatrix& matrix, int64_t output, float* to);

// The rows x [rows, inputs] of a matmul with a matrix of the same type and level.
struct PackedRowsShape {
  int64_t rows = 0;
  int64_t inputs = 0;
  WeightType type = WeightType::Fp32;
  CpuLevel level = default_cpu_level();
};

struct PackedRows {
  PackedRowsShape shape = {};
  std::byte* data = nullptr;
};

int64_t packed_bytes(const PackedRowsShape& shape);
// The rows that one instruction of the matmul multiplies: fewer take as long.
int64_t instruction_rows(WeightType type, CpuLevel level);

struct ColumnRange {
  int64_t begin = 0;  // a multiple of kMatmulColumns
  int64_t end = 0;    // as well, or the matrix's outputs
};

// y = relu(x Wᵀ + bias) + residual, in fp32. Without a part where that is null or false. The
// residual may be the output itself.
struct MatmulOutput {
  float* data = nullptr;  // [rows, outputs], whatever the range of columns
  int64_t stride = 0;     // values from one row to the next
  const float* bias = nullptr;
  bool relu = false;
  const float* residual = nullptr;  // [rows, outputs]
  int64_t residual_stride = 0;
};

void packed_matmul(const PackedRows& rows, const PackedMatrix& matrix, const MatmulOutput& output);
void packed_matmul(const PackedRows& rows, const PackedMatrix& matrix, const MatmulOutput& output,
                   const ColumnRange& columns);

}  // namespace convseq::kernels
