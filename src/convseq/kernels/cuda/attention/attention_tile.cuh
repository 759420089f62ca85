#pragma once

#include "convseq/kernels/attention.h"
#include "convseq/kernels/cuda/tensor_core.cuh"

// Tiles of 64 rows of 64 channels in shared memory, their matmuls, and the bias and mask of the
// scores between two tiles.
namespace convseq::kernels::attention {

constexpr int kWarps = 4;
constexpr int kThreads = kWarps * kLanes;
constexpr int kTile = 64;  // rows, and channels
constexpr int kTileValues = kTile * kTile;
constexpr float kLog2E = 1.44269504f;

constexpr int kSteps = kTile / 16;       // of 16 channels or rows: the K of one mma
constexpr int kColumnTiles = kTile / 8;  // of 8 columns: the N of one mma

using Fragments = unsigned[kSteps][4];  // 16 rows × 64 of the left operand
// Accumulators of 16 rows × 64: lane l holds rows l/4 and l/4 + 8 of each tile of 8 columns.
using Sums = float[kColumnTiles][4];

struct BatchHead {
  int batch, head;
};

__device__ inline const bf16* row_of(const AttentionRows& rows, BatchHead head_index, int row) {
  return static_cast<const bf16*>(rows.data) + head_index.batch * rows.batch +
         head_index.head * rows.head + row * rows.time;
}

// The index of the warp within its warpgroup: it computes 16 rows of a tile.
__device__ inline int warp_in_tile() { return threadIdx.x / kLanes % kWarps; }

// The address of a 16-byte chunk of a row in the 128-byte swizzle of wgmma: chunks are XORed with
// the row, so that the same chunk of eight rows lies in distinct banks.
template <class T>
__device__ T* swizzled(T* tile, int row, int chunk) {
  return tile + row * kTile + ((chunk ^ (row % 8)) * 8);
}

// Four warps copy rows from `first` on, and zeros from `end` on, with cp.async.
__device__ inline void copy_tile(bf16* tile, const AttentionRows& rows, BatchHead head_index,
                                 int first, int end) {
  constexpr int kChunks = kTile / 8, kRowsPerPass = kThreads / kChunks;
  static_assert(kRowsPerPass % 8 == 0, "all rows copied by one thread have the same swizzle");
  const int row = threadIdx.x % kThreads / kChunks, chunk = threadIdx.x % kChunks;
  const bf16* from = row_of(rows, head_index, first + row) + chunk * 8;  // not read from `end` on
  bf16* to = swizzled(tile, row, chunk);
#pragma unroll
  for (int r = 0; r < kTile; r += kRowsPerPass) {
    cp_async_16(to + r * kTile, from + r * rows.time, first + row + r < end);
  }
}

// Makes what each thread has written to tiles visible to all threads and to wgmma.
__device__ inline void sync_tiles() {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
#endif
  __syncthreads();
}

__device__ inline void wait_for_tiles() {
  cp_async_wait_all();
  sync_tiles();
}

#ifdef __CUDA_ARCH_FEAT_SM90_ALL  // Hopper: wgmma reads its operands from shared memory

// The distance of 16 columns or rows in a tile, in units of 16 bytes.
constexpr int kStepOfColumns = 16 * sizeof(bf16) / 16, kStepOfRows = kStepOfColumns * kTile;

// sums = own · tileᵀ, complete after wait_for_matmuls(): until then neither sums nor operands may
// be touched. (Keeping the left operand in registers over a whole loop was tried: ptxas 13.0 reused
// these registers before the next iteration.)
__device__ inline void matmul_nt(Sums& sums, const bf16* own, const bf16* tile) {
  const unsigned left = shared_address(own), right = shared_address(tile);
  wgmma_fence();
#pragma unroll
  for (int k = 0; k < kSteps; ++k) {
    wgmma_m64n64k16(sums, wgmma_descriptor(left + k * kStepOfColumns),
                    wgmma_descriptor(right + k * kStepOfColumns), /*add=*/k > 0);
  }
  wgmma_commit();
}

// sums += a · tile.
__device__ inline void matmul_nn(Sums& sums, const Fragments& a, const bf16* tile) {
  const unsigned right = shared_address(tile);
  wgmma_fence();
#pragma unroll
  for (int k = 0; k < kSteps; ++k) {
    wgmma_m64n64k16(sums, a[k], wgmma_descriptor(right + k * kStepOfRows));
  }
  wgmma_commit();
}

// sums = Σ leftᵀ · right over kCount tiles of each.
template <int kCount>
__device__ void matmul_tn(Sums& sums, const bf16* left, const bf16* right) {
  const unsigned first = shared_address(left), second = shared_address(right);
  wgmma_fence();
#pragma unroll
  for (int k = 0; k < kCount * kSteps; ++k) {
    wgmma_m64n64k16_tn(sums, wgmma_descriptor(first + k * kStepOfRows),
                       wgmma_descriptor(second + k * kStepOfRows), /*add=*/k > 0);
  }
  wgmma_commit();
}

template <class... Each>
__device__ void wait_for_matmuls(Each&... sums) {
  wgmma_wait();
  (keep_in_registers(sums), ...);
}

#else

__device__ inline void clear(Sums& sums) {
#pragma unroll
  for (auto& part : sums) {
#pragma unroll
    for (float& sum : part) sum = 0;
  }
}

// sums += a · b, where load(to, k, n) loads rows 16 k … and columns 16 n … of b.
template <class Load>
__device__ void mma_tile(Sums& sums, const Fragments& a, const Load& load) {
#pragma unroll
  for (int k = 0; k < kSteps; ++k) {
#pragma unroll
    for (int n = 0; n < kSteps; ++n) {
      unsigned b[4];
      load(b, k, n);
      mma_m16n8k16(sums[2 * n], a[k], b[0], b[1]);
      mma_m16n8k16(sums[2 * n + 1], a[k], b[2], b[3]);
    }
  }
}

__device__ inline void matmul_nt(Sums& sums, const bf16* own, const bf16* tile) {
  const int lane = threadIdx.x % kLanes, first = warp_in_tile() * 16;
  Fragments rows;
#pragma unroll
  for (int k = 0; k < kSteps; ++k) {
    ldmatrix_x4(rows[k], swizzled(own, first + lane % 16, 2 * k + lane / 16));
  }
  clear(sums);
  mma_tile(sums, rows, [&](unsigned(&b)[4], int k, int n) {
    ldmatrix_x4(b, swizzled(tile, 16 * n + lane / 16 * 8 + lane % 8, 2 * k + lane / 8 % 2));
  });
}

__device__ inline void matmul_nn(Sums& sums, const Fragments& a, const bf16* tile) {
  const int lane = threadIdx.x % kLanes;
  mma_tile(sums, a, [&](unsigned(&b)[4], int k, int n) {
    ldmatrix_x4_transposed(b, swizzled(tile, 16 * k + lane % 16, 2 * n + lane / 16));
  });
}

template <int kCount>
__device__ void matmul_tn(Sums& sums, const bf16* left, const bf16* right) {
  const int lane = threadIdx.x % kLanes, chunk = warp_in_tile() * 2;
  clear(sums);
#pragma unroll
  for (int tile = 0; tile < kCount; ++tile) {
    Fragments rows;
#pragma unroll
    for (int k = 0; k < kSteps; ++k) {
      ldmatrix_x4_transposed(rows[k],
                             swizzled(left + tile * kTileValues, 16 * k + lane / 16 * 8 + lane % 8,
                                      chunk + lane / 8 % 2));
    }
    matmul_nn(sums, rows, right + tile * kTileValues);
  }
}

template <class... Each>
__device__ void wait_for_matmuls(Each&...) {}

#endif

// The accumulators of one matmul as the left operand of the next.
__device__ inline void to_fragments(Fragments& to, const Sums& sums) {
#pragma unroll
  for (int k = 0; k < kSteps; ++k) {
    to[k][0] = pack_pair(sums[2 * k][0], sums[2 * k][1]);
    to[k][1] = pack_pair(sums[2 * k][2], sums[2 * k][3]);
    to[k][2] = pack_pair(sums[2 * k + 1][0], sums[2 * k + 1][1]);
    to[k][3] = pack_pair(sums[2 * k + 1][2], sums[2 * k + 1][3]);
  }
}

// Stores them as rows of a tile.
__device__ inline void store_fragments(bf16* tile, const Fragments& rows) {
  const int lane = threadIdx.x % kLanes, first = warp_in_tile() * 16;
#pragma unroll
  for (int k = 0; k < kSteps; ++k) {
    stmatrix_x4(swizzled(tile, first + lane % 16, 2 * k + lane / 16), rows[k]);
  }
}

// Row and column within 16 × 64 of accumulator i of a lane in one tile of 8 columns.
__device__ inline int fragment_row(int i) { return threadIdx.x % kLanes / 4 + i / 2 * 8; }
__device__ inline int fragment_column(int part, int i) {
  return 8 * part + threadIdx.x % 4 * 2 + i % 2;
}

// Stores 16 × 64 accumulators, scaled, to rows first … of an output; rows from `end` on do not
// exist. Neighbouring lanes exchange values of two column tiles, so that each row is written 32
// bytes at a time.
__device__ inline void store_rows(const AttentionRows& rows, BatchHead head_index, int first,
                                  int end, const Sums& sums, const float (&scale)[2]) {
  const bool odd = threadIdx.x % 2 == 1;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const auto pair = [&](int part) {
      return pack_pair(sums[part][2 * half] * scale[half], sums[part][2 * half + 1] * scale[half]);
    };
    uint2 pairs[kColumnTiles / 2];
#pragma unroll
    for (int part = 0; part < kColumnTiles; part += 2) {
      const unsigned of_even = pair(part), of_odd = pair(part + 1);
      const unsigned got = __shfl_xor_sync(kAllLanes, odd ? of_even : of_odd, 1);
      pairs[part / 2] = odd ? make_uint2(got, of_odd) : make_uint2(of_even, got);
    }
    const int row = first + fragment_row(2 * half);
    if (row >= end) continue;
    auto* to = const_cast<bf16*>(row_of(rows, head_index, row)) +
               (odd ? fragment_column(1, 0) - 2 : fragment_column(0, 0));
#pragma unroll
    for (int part = 0; part < kColumnTiles; part += 2) {
      *reinterpret_cast<uint2*>(to + 8 * part) = pairs[part / 2];
    }
  }
}

__device__ inline float exp2_approx(float x) {
  float power;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"(x));
  return power;
}

// The bias and mask of one head's scores. The distance of a key from a query is key − query −
// shift.
struct BiasAndMask {
  int queries, keys;  // keys: those that are not padding
  int shift;          // query i has the position of key i + shift
  bool causal;
  int max_distance;   // 0: no bias
  const float* bias;  // in shared memory, times log2(e); points to distance 0

  __device__ bool is_visible(int query, int key) const {
    return key < keys && (!causal || key <= query + shift);
  }
  // Whether the bias has one value in the whole tile that begins at this key and query.
  __device__ bool has_constant_bias(int key, int tile_keys, int query, int tile_queries) const {
    const int distance = key - query - shift;
    return distance - (tile_queries - 1) >= max_distance ||
           distance + (tile_keys - 1) <= -max_distance;
  }
};

// Distances beyond `max_distance` in a tile of 16 × 64 whose bias is not constant: they have
// entries in shared memory, too.
constexpr int kBiasMargin = kTile + 16;

__device__ inline BiasAndMask bias_and_mask(const AttentionShape& shape, BatchHead head_index,
                                            const int64_t* lengths, const float* shared_bias) {
  return {static_cast<int>(shape.queries),
          real_length(lengths, head_index.batch, static_cast<int>(shape.keys)),
          static_cast<int>(shape.keys - shape.queries),
          shape.causal,
          static_cast<int>(shape.max_distance),
          shared_bias + shape.max_distance + kBiasMargin};
}

inline __host__ __device__ int64_t shared_bias_values(const AttentionShape& shape) {
  return shape.max_distance == 0 ? 0 : 2 * (shape.max_distance + kBiasMargin) + 1;
}

__device__ inline void load_bias(float* to, const float* bias, const AttentionShape& shape,
                                 int head) {
  const int max_distance = static_cast<int>(shape.max_distance), count = 2 * max_distance + 1;
  for (int i = threadIdx.x; i < shared_bias_values(shape); i += kThreads) {
    const int index = min(max(i - kBiasMargin, 0), count - 1);
    to[i] = bias[static_cast<int64_t>(head) * count + index] * kLog2E;
  }
}

// Scores to exponents of two: log2(e) · score + bias − subtract(part, i), −infinity where masked.
// kRowsAreKeys: rows are keys and columns are queries; otherwise rows are queries.
template <bool kRowsAreKeys, class Subtract>
__device__ void scores_to_exponents(Sums& sums, const BiasAndMask& mask, int row, int column,
                                    const Subtract& subtract) {
  constexpr int kKeys = kRowsAreKeys ? 16 : kTile, kQueries = kRowsAreKeys ? kTile : 16;
  const int key = kRowsAreKeys ? row : column, query = kRowsAreKeys ? column : row;
  const int distance = key - query - mask.shift;
  if (mask.max_distance > 0 && !mask.has_constant_bias(key, kKeys, query, kQueries)) {
    const int lane_offset = fragment_column(0, 0) - fragment_row(0);
    const float* bias = mask.bias + distance + (kRowsAreKeys ? -lane_offset : lane_offset);
#pragma unroll
    for (int part = 0; part < kColumnTiles; ++part) {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const int offset = 8 * part + i % 2 - i / 2 * 8;
        sums[part][i] =
            fmaf(sums[part][i], kLog2E, bias[kRowsAreKeys ? -offset : offset] - subtract(part, i));
      }
    }
  } else {
    const float bias = mask.max_distance == 0
                           ? 0.f
                           : mask.bias[distance > 0 ? mask.max_distance : -mask.max_distance];
#pragma unroll
    for (int part = 0; part < kColumnTiles; ++part) {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        sums[part][i] = fmaf(sums[part][i], kLog2E, bias - subtract(part, i));
      }
    }
  }
  if (mask.is_visible(query, key + kKeys - 1)) return;  // the first query sees the last key
#pragma unroll
  for (int part = 0; part < kColumnTiles; ++part) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int r = row + fragment_row(i), c = column + fragment_column(part, i);
      if (!mask.is_visible(kRowsAreKeys ? c : r, kRowsAreKeys ? r : c)) sums[part][i] = -INFINITY;
    }
  }
}

struct RowStats {
  float lse, delta;  // of a query: log-sum-exp, and delta = Σ y · dy
};

// The part of delta from one chunk of eight channels.
__device__ inline float partial_delta(const AttentionBackward& arrays, BatchHead head_index,
                                      int query, int chunk) {
  float y[8], dy[8], sum = 0;
  load_values(row_of(arrays.y, head_index, query) + chunk * 8, y);
  load_values(row_of(arrays.dy, head_index, query) + chunk * 8, dy);
#pragma unroll
  for (int i = 0; i < 8; ++i) sum = fmaf(y[i], dy[i], sum);
  return sum;
}

// P = 2^exponent in place of the exponents, and dS = P ⊙ (dP − delta) in place of dP.
template <class StatsAt>
__device__ void exponents_to_p_and_ds(Sums& p, Sums& ds, const StatsAt& stats_at) {
#pragma unroll
  for (int part = 0; part < kColumnTiles; ++part) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      p[part][i] = exp2_approx(p[part][i]);
      ds[part][i] = p[part][i] * (ds[part][i] - stats_at(part, i).delta);
    }
  }
}

// A query sees keys 0 … this − 1.
__device__ inline int visible_keys(const BiasAndMask& mask, int query) {
  const int visible = mask.causal ? query + mask.shift + 1 : mask.keys;
  return max(0, min(visible, mask.keys));
}

constexpr int kTiles = 6;  // the block's own two, and two pipeline stages of two each

inline size_t shared_bytes(const AttentionShape& shape) {
  return kTiles * kTileValues * sizeof(bf16) + shared_bias_values(shape) * sizeof(float);
}

// The largest limit is set in every call, so that no thread lowers what another is about to use.
inline constexpr AttentionShape kMaxShared = {.max_distance = kAttentionMaxDistance};

// Blocks that read the same keys and values are neighbours and find them in the L2 cache.
inline dim3 grid_of(const AttentionShape& shape, int64_t rows, int rows_per_block) {
  return dim3(static_cast<unsigned>(ceil_div<int64_t>(rows, rows_per_block)),
              static_cast<unsigned>(shape.heads), static_cast<unsigned>(shape.batch));
}

__device__ inline BatchHead batch_head_of_block() {
  return {static_cast<int>(blockIdx.z), static_cast<int>(blockIdx.y)};
}

// The offset of a head's first query in [B,H,Tq].
__device__ inline int64_t query_offset(const AttentionShape& shape, BatchHead head_index) {
  return (head_index.batch * shape.heads + head_index.head) * shape.queries;
}

}  // namespace convseq::kernels::attention
