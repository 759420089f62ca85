#pragma once

#include "convseq/kernels/attention.h"
#include "convseq/kernels/cuda/tensor_core.cuh"

// Tiles of 64 rows of 64 channels in shared memory, their matmuls, and what stands between the
// positions of a tile: bias, mask.
namespace convseq::kernels::attention {

constexpr int kWarps = 4;
constexpr int kThreads = kWarps * kLanes;
constexpr int kTile = 64;  // rows, and channels
constexpr int kTileValues = kTile * kTile;
constexpr float kLog2E = 1.44269504f;

constexpr int kSteps = kTile / 16;  // of 16 channels or rows, as a matmul takes them
constexpr int kParts = kTile / 8;   // of 8 columns, as a matmul gives them

using Fragments = unsigned[kSteps][4];  // 16 rows × 64, of the left factor
using Sums = float[kParts][4];          // 16 rows × 64: lane l has rows l/4 and l/4 + 8 of each

struct Place {  // in the batch
  int batch, head;
};

__device__ inline const bf16* row_of(const AttentionRows& rows, Place place, int row) {
  return static_cast<const bf16*>(rows.data) + place.batch * rows.batch + place.head * rows.head +
         row * rows.time;
}

// Which 16 rows of a tile are the warp's.
__device__ inline int warp_in_tile() { return threadIdx.x / kLanes % kWarps; }

// Sixteen bytes of a row. They are swizzled by the row, so that eight rows fall into eight banks.
// Hopper's matmuls read them so, too.
template <class T>
__device__ T* at(T* tile, int row, int eighth) {
  return tile + row * kTile + ((eighth ^ (row % 8)) * 8);
}

// By four warps: rows from `first` on, zeros from `end` on.
__device__ inline void copy_tile(bf16* tile, const AttentionRows& rows, Place place, int first,
                                 int end) {
  constexpr int kPieces = kTile / 8, kAtOnce = kThreads / kPieces;
  static_assert(kAtOnce % 8 == 0, "rows copied by one thread are swizzled alike");
  const int row = threadIdx.x % kThreads / kPieces, piece = threadIdx.x % kPieces;
  const bf16* from = row_of(rows, place, first + row) + piece * 8;  // not read from `end` on
  bf16* to = at(tile, row, piece);
#pragma unroll
  for (int r = 0; r < kTile; r += kAtOnce) {
    copy_16_async(to + r * kTile, from + r * rows.time, first + row + r < end);
  }
}

// What each thread has written to tiles can be read by all, by their matmuls too.
__device__ inline void share_tiles() {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
#endif
  __syncthreads();
}

__device__ inline void wait_for_tiles() {
  wait_for_copies();
  share_tiles();
}

#ifdef __CUDA_ARCH_FEAT_SM90_ALL  // Hopper: the four warps multiply together, straight from a tile

// 16 columns or rows further on in a tile, in units of 16 bytes.
constexpr int kStepOfColumns = 16 * sizeof(bf16) / 16, kStepOfRows = kStepOfColumns * kTile;

// sums = own · tileᵀ, as soon as wait_for_matmuls() has been called: until then neither sums nor
// factors may be touched. (A left factor held in registers for all of a loop was tried: ptxas 13.0
// put other values in its place before the next turn.)
__device__ inline void multiply_transposed(Sums& sums, const bf16* own, const bf16* tile) {
  const unsigned left = start_of(own), right = start_of(tile);
  wgmma_fence();
#pragma unroll
  for (int k = 0; k < kSteps; ++k) {
    multiply_add_64(sums, swizzled_tile(left + k * kStepOfColumns),
                    swizzled_tile(right + k * kStepOfColumns), /*add=*/k > 0);
  }
  wgmma_commit();
}

// sums += a · tile.
__device__ inline void multiply(Sums& sums, const Fragments& a, const bf16* tile) {
  const unsigned right = start_of(tile);
  wgmma_fence();
#pragma unroll
  for (int k = 0; k < kSteps; ++k) {
    multiply_add_64(sums, a[k], swizzled_tile(right + k * kStepOfRows));
  }
  wgmma_commit();
}

// sums = Σ leftᵀ · right over kCount tiles of each.
template <int kCount>
__device__ void multiply_columns(Sums& sums, const bf16* left, const bf16* right) {
  const unsigned first = start_of(left), second = start_of(right);
  wgmma_fence();
#pragma unroll
  for (int k = 0; k < kCount * kSteps; ++k) {
    multiply_add_64_of_rows(sums, swizzled_tile(first + k * kStepOfRows),
                            swizzled_tile(second + k * kStepOfRows), /*add=*/k > 0);
  }
  wgmma_commit();
}

template <class... Each>
__device__ void wait_for_matmuls(Each&... sums) {
  wgmma_wait();
  (hold(sums), ...);
}

#else

__device__ inline void clear(Sums& sums) {
#pragma unroll
  for (auto& part : sums) {
#pragma unroll
    for (float& sum : part) sum = 0;
  }
}

// sums += a · b, of which load(to, k, n) loads rows 16 k … and columns 16 n ….
template <class Load>
__device__ void multiply_by(Sums& sums, const Fragments& a, const Load& load) {
#pragma unroll
  for (int k = 0; k < kSteps; ++k) {
#pragma unroll
    for (int n = 0; n < kSteps; ++n) {
      unsigned b[4];
      load(b, k, n);
      multiply_add(sums[2 * n], a[k], b[0], b[1]);
      multiply_add(sums[2 * n + 1], a[k], b[2], b[3]);
    }
  }
}

__device__ inline void multiply_transposed(Sums& sums, const bf16* own, const bf16* tile) {
  const int lane = threadIdx.x % kLanes, first = warp_in_tile() * 16;
  Fragments rows;
#pragma unroll
  for (int k = 0; k < kSteps; ++k) {
    load_matrices(rows[k], at(own, first + lane % 16, 2 * k + lane / 16));
  }
  clear(sums);
  multiply_by(sums, rows, [&](unsigned(&b)[4], int k, int n) {
    load_matrices(b, at(tile, 16 * n + lane / 16 * 8 + lane % 8, 2 * k + lane / 8 % 2));
  });
}

__device__ inline void multiply(Sums& sums, const Fragments& a, const bf16* tile) {
  const int lane = threadIdx.x % kLanes;
  multiply_by(sums, a, [&](unsigned(&b)[4], int k, int n) {
    load_matrices_transposed(b, at(tile, 16 * k + lane % 16, 2 * n + lane / 16));
  });
}

template <int kCount>
__device__ void multiply_columns(Sums& sums, const bf16* left, const bf16* right) {
  const int lane = threadIdx.x % kLanes, eighth = warp_in_tile() * 2;
  clear(sums);
#pragma unroll
  for (int tile = 0; tile < kCount; ++tile) {
    Fragments rows;
#pragma unroll
    for (int k = 0; k < kSteps; ++k) {
      load_matrices_transposed(
          rows[k],
          at(left + tile * kTileValues, 16 * k + lane / 16 * 8 + lane % 8, eighth + lane / 8 % 2));
    }
    multiply(sums, rows, right + tile * kTileValues);
  }
}

template <class... Each>
__device__ void wait_for_matmuls(Each&...) {}

#endif

// Sums of one matmul as the left factor of the next.
__device__ inline void pack_rows(Fragments& to, const Sums& sums) {
#pragma unroll
  for (int k = 0; k < kSteps; ++k) {
    to[k][0] = pack_pair(sums[2 * k][0], sums[2 * k][1]);
    to[k][1] = pack_pair(sums[2 * k][2], sums[2 * k][3]);
    to[k][2] = pack_pair(sums[2 * k + 1][0], sums[2 * k + 1][1]);
    to[k][3] = pack_pair(sums[2 * k + 1][2], sums[2 * k + 1][3]);
  }
}

// And into a tile, as rows of it.
__device__ inline void keep_rows(bf16* tile, const Fragments& rows) {
  const int lane = threadIdx.x % kLanes, first = warp_in_tile() * 16;
#pragma unroll
  for (int k = 0; k < kSteps; ++k) {
    store_matrices(at(tile, first + lane % 16, 2 * k + lane / 16), rows[k]);
  }
}

// Row and column, within 16 × 64, of number i of a part of a lane's sums.
__device__ inline int row_in(int i) { return threadIdx.x % kLanes / 4 + i / 2 * 8; }
__device__ inline int column_in(int part, int i) { return 8 * part + threadIdx.x % 4 * 2 + i % 2; }

// 16 × 64 sums, scaled, to rows first … of an output; rows from `end` on do not exist. Neighbouring
// lanes exchange what they have of two parts, so that a row gets 32 bytes at a time.
__device__ inline void store_rows(const AttentionRows& rows, Place place, int first, int end,
                                  const Sums& sums, const float (&scale)[2]) {
  const bool odd = threadIdx.x % 2 == 1;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const auto pair = [&](int part) {
      return pack_pair(sums[part][2 * half] * scale[half], sums[part][2 * half + 1] * scale[half]);
    };
    uint2 pairs[kParts / 2];
#pragma unroll
    for (int part = 0; part < kParts; part += 2) {
      const unsigned of_even = pair(part), of_odd = pair(part + 1);
      const unsigned got = __shfl_xor_sync(kAllLanes, odd ? of_even : of_odd, 1);
      pairs[part / 2] = odd ? make_uint2(got, of_odd) : make_uint2(of_even, got);
    }
    const int row = first + row_in(2 * half);
    if (row >= end) continue;
    auto* to =
        const_cast<bf16*>(row_of(rows, place, row)) + (odd ? column_in(1, 0) - 2 : column_in(0, 0));
#pragma unroll
    for (int part = 0; part < kParts; part += 2) {
      *reinterpret_cast<uint2*>(to + 8 * part) = pairs[part / 2];
    }
  }
}

__device__ inline float exp2_of(float x) {
  float power;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"(x));
  return power;
}

// What stands between the queries and keys of a row and head of the batch. A query and a key are as
// far apart as `key − query − shift` says.
struct Between {
  int queries, keys;  // keys: the real ones
  int shift;          // query i stands where key i + shift does
  bool causal;
  int max_distance;   // 0: no bias
  const float* bias;  // in shared memory, times log2(e), at distance 0

  __device__ bool sees(int query, int key) const {
    return key < keys && (!causal || key <= query + shift);
  }
  // Whether the bias is one number in a square whose first key and query these are.
  __device__ bool is_far(int key, int keys_of, int query, int queries_of) const {
    const int distance = key - query - shift;
    return distance - (queries_of - 1) >= max_distance || distance + (keys_of - 1) <= -max_distance;
  }
};

// Distances beyond `max_distance` that a square of 16 × 64 may have and not be far: they stand in
// shared memory too.
constexpr int kReach = kTile + 16;

__device__ inline Between between(const AttentionShape& shape, Place place, const int64_t* lengths,
                                  const float* shared_bias) {
  return {static_cast<int>(shape.queries),
          real_length(lengths, place.batch, static_cast<int>(shape.keys)),
          static_cast<int>(shape.keys - shape.queries),
          shape.causal,
          static_cast<int>(shape.max_distance),
          shared_bias + shape.max_distance + kReach};
}

inline __host__ __device__ int64_t shared_biases(const AttentionShape& shape) {
  return shape.max_distance == 0 ? 0 : 2 * (shape.max_distance + kReach) + 1;
}

__device__ inline void load_bias(float* to, const float* bias, const AttentionShape& shape,
                                 int head) {
  const int max_distance = static_cast<int>(shape.max_distance), count = 2 * max_distance + 1;
  for (int i = threadIdx.x; i < shared_biases(shape); i += kThreads) {
    const int at = min(max(i - kReach, 0), count - 1);
    to[i] = bias[static_cast<int64_t>(head) * count + at] * kLog2E;
  }
}

// Scores become exponents of two: bias added, minus(part, i) taken away, hidden keys at −infinity.
// kOfKeys: rows are keys and columns queries, otherwise rows are queries.
template <bool kOfKeys, class Minus>
__device__ void to_exponents(Sums& sums, const Between& positions, int row, int column,
                             const Minus& minus) {
  constexpr int kKeys = kOfKeys ? 16 : kTile, kQueries = kOfKeys ? kTile : 16;
  const int key = kOfKeys ? row : column, query = kOfKeys ? column : row;
  const int distance = key - query - positions.shift;
  if (positions.max_distance > 0 && !positions.is_far(key, kKeys, query, kQueries)) {
    const int lead = column_in(0, 0) - row_in(0);
    const float* bias = positions.bias + distance + (kOfKeys ? -lead : lead);
#pragma unroll
    for (int part = 0; part < kParts; ++part) {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const int further = 8 * part + i % 2 - i / 2 * 8;
        sums[part][i] =
            fmaf(sums[part][i], kLog2E, bias[kOfKeys ? -further : further] - minus(part, i));
      }
    }
  } else {
    const float bias =
        positions.max_distance == 0
            ? 0.f
            : positions.bias[distance > 0 ? positions.max_distance : -positions.max_distance];
#pragma unroll
    for (int part = 0; part < kParts; ++part) {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        sums[part][i] = fmaf(sums[part][i], kLog2E, bias - minus(part, i));
      }
    }
  }
  if (positions.sees(query, key + kKeys - 1)) return;  // the first query, hence all, see the last
#pragma unroll
  for (int part = 0; part < kParts; ++part) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int r = row + row_in(i), c = column + column_in(part, i);
      if (!positions.sees(kOfKeys ? c : r, kOfKeys ? r : c)) sums[part][i] = -INFINITY;
    }
  }
}

struct QueryMark {
  float lse, delta;  // delta: Σ y · dy
};

// The part of it that an eighth of the channels has.
__device__ inline float delta_of_eighth(const AttentionBackward& arrays, Place place, int query,
                                        int eighth) {
  float y[8], dy[8], sum = 0;
  load_values(row_of(arrays.y, place, query) + eighth * 8, y);
  load_values(row_of(arrays.dy, place, query) + eighth * 8, dy);
#pragma unroll
  for (int i = 0; i < 8; ++i) sum = fmaf(y[i], dy[i], sum);
  return sum;
}

// Exponents become shares, and the shares' gradients those of the scores.
template <class MarkAt>
__device__ void to_shares(Sums& exponents, Sums& gradients, const MarkAt& mark_at) {
#pragma unroll
  for (int part = 0; part < kParts; ++part) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      exponents[part][i] = exp2_of(exponents[part][i]);
      gradients[part][i] = exponents[part][i] * (gradients[part][i] - mark_at(part, i).delta);
    }
  }
}

// Keys that a query at `query` may see: 0 … this − 1.
__device__ inline int seen_keys(const Between& positions, int query) {
  const int visible = positions.causal ? query + positions.shift + 1 : positions.keys;
  return max(0, min(visible, positions.keys));
}

constexpr int kTiles = 6;  // two of the block's own, two stages of two that march by

inline size_t shared_bytes(const AttentionShape& shape) {
  return kTiles * kTileValues * sizeof(bf16) + shared_biases(shape) * sizeof(float);
}

// The limit is the same in every call: one thread must not lower what another is about to use.
inline constexpr AttentionShape kMostShared = {.max_distance = kAttentionMaxDistance};

// Blocks that read the same keys and values stand side by side, and find them in the L2 cache.
inline dim3 blocks_of(const AttentionShape& shape, int64_t rows, int rows_of_block) {
  return dim3(static_cast<unsigned>(ceil_div<int64_t>(rows, rows_of_block)),
              static_cast<unsigned>(shape.heads), static_cast<unsigned>(shape.batch));
}

__device__ inline Place place_of_block() {
  return {static_cast<int>(blockIdx.z), static_cast<int>(blockIdx.y)};
}

// Number of the first of a row's and head's queries in [B,H,Tq].
__device__ inline int64_t first_query(const AttentionShape& shape, Place place) {
  return (place.batch * shape.heads + place.head) * shape.queries;
}

}  // namespace convseq::kernels::attention
