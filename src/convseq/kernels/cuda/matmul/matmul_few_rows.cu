#include "convseq/kernels/cuda/matmul/matmul_few_rows.h"
#include "convseq/kernels/cuda/tensor_core.cuh"

namespace convseq::kernels {
namespace {

constexpr int kChunk = 32;     // of the inner dimension, per warp and load
constexpr int kLoads = 2;      // chunks in flight at once
constexpr int kTileRows = 16;  // of a matrix instruction
constexpr int kTileColumns = 8;
constexpr int kMostRows = 64;

// Eight neighbouring values of a row, or zeros.
__device__ uint4 load_eight(const bf16* from, bool real) {
  return real ? *reinterpret_cast<const uint4*>(from) : uint4{0, 0, 0, 0};
}

// out[r,c] = Σ_i a[r,i] b[c,i]. A block computes all rows of kColumnTiles · 8 columns; its warps
// share the inner dimension and add up their sums in shared memory. Each lane loads 16 bytes of a
// row of a or b: the matrix instructions take the inner dimension in the order of these loads,
// which is the same for a and b.
template <int kRowTiles, int kColumnTiles, int kWarps>
__global__ void __launch_bounds__(kWarps* kLanes) few_rows_matmul_kernel(Matmul matmul) {
  constexpr int kPairs = kRowTiles * kColumnTiles * 2 * kLanes;  // of neighbouring outputs
  __shared__ float2 partial[kWarps][kPairs];
  const int warp = threadIdx.x / kLanes, lane = threadIdx.x % kLanes;
  const int rows = static_cast<int>(matmul.rows), columns = static_cast<int>(matmul.columns);
  const int inner = static_cast<int>(matmul.inner);
  const int first_column = blockIdx.x * kColumnTiles * kTileColumns;
  const int own = lane / 4, part = lane % 4 * 8;  // a lane's row of each tile, and its values

  // Rows and columns beyond the matrices repeat the last one and are not stored.
  const bf16 *a[kRowTiles][2], *b[kColumnTiles];
#pragma unroll
  for (int m = 0; m < kRowTiles; ++m) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int row = min(m * kTileRows + half * 8 + own, rows - 1);
      a[m][half] = static_cast<const bf16*>(matmul.a.values) + row * matmul.a.stride + part;
    }
  }
#pragma unroll
  for (int n = 0; n < kColumnTiles; ++n) {
    const int column = min(first_column + n * kTileColumns + own, columns - 1);
    b[n] = static_cast<const bf16*>(matmul.b.values) + column * matmul.b.stride + part;
  }

  uint4 b_values[kLoads][kColumnTiles];
  const auto load_b = [&](int first) {
#pragma unroll
    for (int i = 0; i < kLoads; ++i) {
      const int at = first + i * kWarps * kChunk;
#pragma unroll
      for (int n = 0; n < kColumnTiles; ++n) {
        b_values[i][n] = load_eight(b[n] + at, at + part < inner);
      }
    }
  };
  const int start = warp * kChunk;
  if (matmul.constant_b) load_b(start);
  grid_dependency_wait();
  if (!matmul.constant_b) load_b(start);

  float sums[kRowTiles][kColumnTiles][4] = {};
  for (int first = start; first < inner; first += kLoads * kWarps * kChunk) {
    if (first != start) load_b(first);
    uint4 a_values[kLoads][kRowTiles][2];
#pragma unroll
    for (int i = 0; i < kLoads; ++i) {
      const int at = first + i * kWarps * kChunk;
#pragma unroll
      for (int m = 0; m < kRowTiles; ++m) {
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          a_values[i][m][half] = load_eight(a[m][half] + at, at + part < inner);
        }
      }
    }
#pragma unroll
    for (int i = 0; i < kLoads; ++i) {
#pragma unroll
      for (int m = 0; m < kRowTiles; ++m) {
        const uint4 low = a_values[i][m][0], high = a_values[i][m][1];
        const unsigned first_half[4] = {low.x, high.x, low.y, high.y};
        const unsigned second_half[4] = {low.z, high.z, low.w, high.w};
#pragma unroll
        for (int n = 0; n < kColumnTiles; ++n) {
          mma_m16n8k16(sums[m][n], first_half, b_values[i][n].x, b_values[i][n].y);
          mma_m16n8k16(sums[m][n], second_half, b_values[i][n].z, b_values[i][n].w);
        }
      }
    }
  }

#pragma unroll
  for (int m = 0; m < kRowTiles; ++m) {
#pragma unroll
    for (int n = 0; n < kColumnTiles; ++n) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        partial[warp][((m * kColumnTiles + n) * 2 + half) * kLanes + lane] = {
            sums[m][n][2 * half], sums[m][n][2 * half + 1]};
      }
    }
  }
  __syncthreads();
  for (int pair = threadIdx.x; pair < kPairs; pair += kWarps * kLanes) {
    float2 sum = partial[0][pair];
#pragma unroll
    for (int w = 1; w < kWarps; ++w) {
      sum.x += partial[w][pair].x;
      sum.y += partial[w][pair].y;
    }
    const int of_lane = pair % kLanes, half = pair / kLanes % 2, tile = pair / (2 * kLanes);
    const int row = tile / kColumnTiles * kTileRows + half * 8 + of_lane / 4;
    const int column = first_column + tile % kColumnTiles * kTileColumns + of_lane % 4 * 2;
    if (row >= rows) continue;
    const float values[2] = {sum.x, sum.y};
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      if (column + i >= columns) continue;
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

template <int kRowTiles, int kColumnTiles, int kWarps>
void launch(const Matmul& matmul, cudaStream_t stream) {
  const auto blocks =
      static_cast<unsigned>(ceil_div<int64_t>(matmul.columns, kColumnTiles * kTileColumns));
  launch_dependent(few_rows_matmul_kernel<kRowTiles, kColumnTiles, kWarps>, blocks, kWarps * kLanes,
                   0, stream, matmul);
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

// Every block reads all of a. With several tiles of rows cuBLASLt is faster where there are many
// columns, or where columns and inner dimension are both large (3.9 against 5.3 µs for 64 rows,
// 768 columns and an inner dimension of 768 on an H200).
bool reads_a_too_often(const Matmul& matmul) {
  constexpr int64_t kMostOutputs = 64 * 8192, kWide = 768;
  const int64_t tiles = ceil_div<int64_t>(matmul.rows, kTileRows);
  return (tiles > 1 && matmul.rows * matmul.columns > kMostOutputs) ||
         (tiles > 2 && matmul.columns >= kWide && matmul.inner >= kWide);
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
