#pragma once

#include "convseq/kernels/cuda/tensor_core.cuh"
#include "convseq/kernels/matmul.h"

// Tiles of a · bᵀ where a has few rows. The warps of a block share the inner dimension and add up
// their sums in shared memory. Each lane loads 16 bytes of a row of a or b: the matrix instructions
// take the inner dimension in the order of these loads, which is the same for a and b.
namespace convseq::kernels::few_rows {

constexpr int kChunk = 32;     // of the inner dimension, per warp and load
constexpr int kTileRows = 16;  // of a matrix instruction
constexpr int kTileColumns = 8;

// Eight neighbouring values of a row, or zeros.
__device__ inline uint4 load_eight(const bf16* from, bool real) {
  return real ? *reinterpret_cast<const uint4*>(from) : uint4{0, 0, 0, 0};
}

// What one warp of kWarps multiplies, kLoads chunks at a time.
template <int kRowTiles, int kColumnTiles, int kWarps, int kLoads>
class WarpTile {
 public:
  using Sums = float[kRowTiles][kColumnTiles][4];

  // Rows and columns beyond the matrices repeat the last one.
  __device__ WarpTile(const Matmul& matmul, int first_row, int first_column)
      : inner_(static_cast<int>(matmul.inner)) {
    const int lane = threadIdx.x % kLanes;
    const int own = lane / 4, rows = static_cast<int>(matmul.rows);
    const int columns = static_cast<int>(matmul.columns);
    part_ = lane % 4 * 8;  // a lane's values of its row of each tile
#pragma unroll
    for (int m = 0; m < kRowTiles; ++m) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const int row = min(first_row + m * kTileRows + half * 8 + own, rows - 1);
        a_[m][half] = static_cast<const bf16*>(matmul.a.values) + row * matmul.a.stride + part_;
      }
    }
#pragma unroll
    for (int n = 0; n < kColumnTiles; ++n) {
      const int column = min(first_column + n * kTileColumns + own, columns - 1);
      b_[n] = static_cast<const bf16*>(matmul.b.values) + column * matmul.b.stride + part_;
    }
  }

  __device__ void load_first_b() { load_b(start()); }

  // After load_first_b().
  __device__ void multiply(Sums& sums) {
    for (int first = start(); first < inner_; first += kLoads * kWarps * kChunk) {
      if (first != start()) load_b(first);
      uint4 a_values[kLoads][kRowTiles][2];
#pragma unroll
      for (int i = 0; i < kLoads; ++i) {
        const int at = first + i * kWarps * kChunk;
#pragma unroll
        for (int m = 0; m < kRowTiles; ++m) {
#pragma unroll
          for (int half = 0; half < 2; ++half) {
            a_values[i][m][half] = load_eight(a_[m][half] + at, at + part_ < inner_);
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
            mma_m16n8k16(sums[m][n], first_half, b_values_[i][n].x, b_values_[i][n].y);
            mma_m16n8k16(sums[m][n], second_half, b_values_[i][n].z, b_values_[i][n].w);
          }
        }
      }
    }
  }

 private:
  __device__ static int start() { return threadIdx.x / kLanes * kChunk; }
  __device__ void load_b(int first) {
#pragma unroll
    for (int i = 0; i < kLoads; ++i) {
      const int at = first + i * kWarps * kChunk;
#pragma unroll
      for (int n = 0; n < kColumnTiles; ++n) {
        b_values_[i][n] = load_eight(b_[n] + at, at + part_ < inner_);
      }
    }
  }

  int inner_, part_;
  const bf16 *a_[kRowTiles][2], *b_[kColumnTiles];
  uint4 b_values_[kLoads][kColumnTiles];
};

// The sums of all warps, by pairs of neighbouring columns.
template <int kRowTiles, int kColumnTiles, int kWarps>
struct BlockTile {
  static constexpr int kPairs = kRowTiles * kColumnTiles * 2 * kLanes;
  float2 of_warps[kWarps][kPairs];

  __device__ void store(const float (&sums)[kRowTiles][kColumnTiles][4]) {
    const int warp = threadIdx.x / kLanes, lane = threadIdx.x % kLanes;
#pragma unroll
    for (int m = 0; m < kRowTiles; ++m) {
#pragma unroll
      for (int n = 0; n < kColumnTiles; ++n) {
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          of_warps[warp][((m * kColumnTiles + n) * 2 + half) * kLanes + lane] = {
              sums[m][n][2 * half], sums[m][n][2 * half + 1]};
        }
      }
    }
  }
  __device__ float2 sum(int pair) const {
    float2 total = of_warps[0][pair];
#pragma unroll
    for (int warp = 1; warp < kWarps; ++warp) {
      total.x += of_warps[warp][pair].x;
      total.y += of_warps[warp][pair].y;
    }
    return total;
  }
  __device__ static int row(int pair) {
    return pair / (2 * kLanes) / kColumnTiles * kTileRows + pair / kLanes % 2 * 8 +
           pair % kLanes / 4;
  }
  __device__ static int column(int pair) {
    return pair / (2 * kLanes) % kColumnTiles * kTileColumns + pair % 4 * 2;
  }
};

}  // namespace convseq::kernels::few_rows
