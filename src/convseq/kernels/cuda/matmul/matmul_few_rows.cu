#include "convseq/kernels/cuda/matmul/few_rows_tile.cuh"
#include "convseq/kernels/cuda/matmul/matmul_few_rows.h"

namespace convseq::kernels {
namespace {

using few_rows::BlockTile;
using few_rows::kTileColumns;
using few_rows::kTileRows;
using few_rows::WarpTile;

constexpr int kMostRows = 64;

// out[r,c] = Σ_i a[r,i] b[c,i]. A block computes kRowTiles · 16 rows of kColumnTiles · 8 columns.
template <int kRowTiles, int kColumnTiles, int kWarps, int kLoads>
__global__ void __launch_bounds__(kWarps* kLanes) few_rows_matmul_kernel(Matmul matmul) {
  using Block = BlockTile<kRowTiles, kColumnTiles, kWarps>;
  __shared__ Block block;
  const int first_row = blockIdx.y * kRowTiles * kTileRows;
  const int first_column = blockIdx.x * kColumnTiles * kTileColumns;
  WarpTile<kRowTiles, kColumnTiles, kWarps, kLoads> tile(matmul, first_row, first_column);
  if (matmul.constant_b) tile.load_first_b();
  grid_dependency_wait();
  if (!matmul.constant_b) tile.load_first_b();
  float sums[kRowTiles][kColumnTiles][4] = {};
  tile.multiply(sums);
  block.store(sums);
  __syncthreads();
  for (int pair = threadIdx.x; pair < Block::kPairs; pair += kWarps * kLanes) {
    const float2 sum = block.sum(pair);
    const int row = first_row + Block::row(pair), column = first_column + Block::column(pair);
    if (row >= matmul.rows) continue;
    const float values[2] = {sum.x, sum.y};
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      if (column + i >= matmul.columns) continue;
      const int64_t at = row * matmul.out_stride + column + i;
      float value = values[i];
      if (matmul.epilogue == Epilogue::Relu) {
        value = fmaxf(value, 0.f);
      } else if (matmul.c != nullptr) {
        value += to_float(static_cast<const bf16*>(matmul.c)[at]);
      }
      static_cast<bf16*>(matmul.out)[at] = from_float<bf16>(value);
    }
  }
}

template <int kRowTiles, int kColumnTiles, int kWarps, int kLoads = 2>
void launch(const Matmul& matmul, cudaStream_t stream) {
  const auto kernel = few_rows_matmul_kernel<kRowTiles, kColumnTiles, kWarps, kLoads>;
  const auto blocks = [](int64_t size, int64_t of_block) {
    return static_cast<unsigned>(ceil_div(size, of_block));
  };
  launch_dependent(kernel,
                   dim3(blocks(matmul.columns, kColumnTiles * kTileColumns),
                        blocks(matmul.rows, kRowTiles * kTileRows)),
                   kWarps * kLanes, 0, stream, matmul);
}

// More columns per block where there are many, so that all blocks run at once and a is read less
// often; more warps where the inner dimension is long.
template <int kRowTiles>
void launch_tiles(const Matmul& matmul, cudaStream_t stream) {
  constexpr int64_t kLongInner = 1024, kColumnsAtOnce = 132 * kTileColumns;  // on an H100 or H200
  constexpr int64_t kManyColumns = 4096;
  if (kRowTiles == 1 && matmul.columns > kManyColumns) {
    return launch < kRowTiles, kRowTiles == 1 ? 4 : 1, 8 > (matmul, stream);
  }
  if (matmul.inner >= kLongInner) return launch<kRowTiles, 1, 16>(matmul, stream);
  if (matmul.columns > 2 * kColumnsAtOnce) return launch<kRowTiles, 3, 8>(matmul, stream);
  if (matmul.columns > kColumnsAtOnce) return launch<kRowTiles, 2, 8>(matmul, stream);
  launch<kRowTiles, 1, 8>(matmul, stream);
}

bool is_matrix_of_packs(const Matrix& matrix) {
  return is_aligned(matrix.values) && matrix.stride % 8 == 0;
}

// Many rows and columns: blocks of sixteen or 32 rows read less of a and leave more loads in flight
// than blocks of all rows, 1.7 against 3.0 µs for 64 rows, 512 columns and an inner dimension of
// 512 on an H200.
bool splits_rows(const Matmul& matmul) {
  constexpr int64_t kWide = 512, kLongInner = 1024;
  return matmul.rows > 2 * kTileRows && matmul.columns >= kWide && matmul.inner <= kLongInner &&
         matmul.columns <= (matmul.inner <= kWide ? 2048 : 1536);
}

void launch_split_rows(const Matmul& matmul, cudaStream_t stream) {
  if (matmul.inner > 512) return launch<1, 6, 8, 3>(matmul, stream);
  if (matmul.columns <= 512) return launch<1, 4, 8>(matmul, stream);
  if (matmul.columns <= 1024) return launch<2, 4, 8>(matmul, stream);
  launch<2, 6, 8>(matmul, stream);
}

// With several tiles of rows cuBLASLt is faster where there are many columns, or where columns and
// inner dimension are both large.
bool reads_a_too_often(const Matmul& matmul) {
  constexpr int64_t kMostOutputs = 64 * 8192, kWide = 768;
  return (matmul.rows > kTileRows && matmul.rows * matmul.columns > kMostOutputs) ||
         (matmul.rows > 2 * kTileRows && matmul.columns >= kWide && matmul.inner >= kWide &&
          !splits_rows(matmul));
}

}  // namespace

bool has_few_rows_matmul(const Matmul& matmul) {
  return matmul.rows >= 1 && matmul.rows <= kMostRows && matmul.columns >= 1 &&
         matmul.columns <= INT32_MAX / 2 && matmul.inner <= INT32_MAX / 2 &&
         !reads_a_too_often(matmul) && matmul.epilogue != Epilogue::ReluBackward &&
         !matmul.a.transposed && matmul.b.transposed && matmul.inner >= 8 &&
         matmul.inner % 8 == 0 && is_matrix_of_packs(matmul.a) && is_matrix_of_packs(matmul.b);
}

void few_rows_matmul(const Matmul& matmul, Stream on) {
  const auto stream = static_cast<cudaStream_t>(on);
  if (splits_rows(matmul)) return launch_split_rows(matmul, stream);
  switch (ceil_div<int64_t>(matmul.rows, kTileRows)) {
    case 1:
      return launch_tiles<1>(matmul, stream);
    case 2:
      return launch_tiles<2>(matmul, stream);
    case 3:
      return launch_tiles<3>(matmul, stream);
    default:
      return launch_tiles<4>(matmul, stream);
  }
}

}  // namespace convseq::kernels
