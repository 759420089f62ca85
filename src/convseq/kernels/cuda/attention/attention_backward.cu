#include "convseq/kernels/checks.h"
#include "convseq/kernels/cuda/attention/attention_paths.h"
#include "convseq/kernels/cuda/attention/attention_tile.cuh"

namespace convseq::kernels {
namespace {

using namespace attention;

constexpr int kRows = 16 * kWarps;
static_assert(kRows == kAttentionKeys);
constexpr int kDiagonals = kTile + 7;    // of 8 × 64
constexpr int kSkewStride = kTile + 20;  // few bank conflicts between storing lanes
constexpr int kSkewed = 8 * kSkewStride;

// delta[query] = Σ y · dy, eight lanes per query.
__global__ void __launch_bounds__(kThreads)
    attention_delta_kernel(const AttentionShape shape, const AttentionBackward arrays) {
  grid_dependency_wait();
  const BatchHead head_index = batch_head_of_block();
  const int queries = static_cast<int>(shape.queries);
  const int query = static_cast<int>(blockIdx.x) * (kThreads / 8) + threadIdx.x / 8;
  const float sum = warp_sum<8>(
      query < queries ? partial_delta(arrays, head_index, query, threadIdx.x % 8) : 0.f);
  if (query < queries && threadIdx.x % 8 == 0) {
    arrays.delta[query_offset(shape, head_index) + query] = sum;
  }
}

// The gradient of the bias, summed over the pairs of a warp: each distance is added by one lane at
// a time, those at ±max_distance and beyond in registers of all lanes.
struct BiasGradient {
  float* near;       // [2 max_distance + 1] in shared memory, of this warp
  float* skewed;     // [8][kSkewStride] in shared memory, of this warp: a diagonal is a column
  float below = 0;   // at −max_distance and before
  float beyond = 0;  // at max_distance and after

  __device__ void clear(int distances) {
    const int lane = threadIdx.x % kLanes;
    for (int i = lane; i < distances; i += kLanes) near[i] = 0;
    for (int i = lane; i < kSkewed; i += kLanes) skewed[i] = 0;  // the corners stay zero
  }

  __device__ void add(const Sums& gradients, const BiasAndMask& mask, int key, int query) {
    if (mask.has_constant_bias(key, 16, query, kTile)) {
      float sum = 0;
#pragma unroll
      for (int part = 0; part < kColumnTiles; ++part) {
#pragma unroll
        for (int i = 0; i < 4; ++i) sum += gradients[part][i];
      }
      (key - query - mask.shift > 0 ? beyond : below) += sum;
      return;
    }
#pragma unroll
    for (int half = 0; half < 2; ++half) add_half(gradients, half, mask, key, query);
  }

  __device__ void add_half(const Sums& gradients, int half, const BiasAndMask& mask, int key,
                           int query) {
    __syncwarp();  // the previous rows have been read
    float* row = skewed + fragment_row(0) * (kSkewStride - 1) + 7;
#pragma unroll
    for (int part = 0; part < kColumnTiles; ++part) {
#pragma unroll
      for (int i = 0; i < 2; ++i) row[fragment_column(part, i)] = gradients[part][2 * half + i];
    }
    __syncwarp();
    for (int diagonal = threadIdx.x % kLanes; diagonal < kDiagonals; diagonal += kLanes) {
      float sum = 0;
#pragma unroll
      for (int r = 0; r < 8; ++r) sum += skewed[r * kSkewStride + diagonal];
      const int distance = key - query - mask.shift + 8 * half + 7 - diagonal;
      if (distance <= -mask.max_distance) {
        below += sum;
      } else if (distance >= mask.max_distance) {
        beyond += sum;
      } else {
        near[distance + mask.max_distance] += sum;
      }
    }
  }
};

// kRowsAreKeys: a block has 64 keys with their values and loops over q and dy, for dk, dv and the
// gradient of the bias. Otherwise it has 64 queries with their dy and loops over keys and values,
// for dq. Both recompute the scores: passing them on would need sums in global memory, in no fixed
// order. Names: S = q·k uses the operands `qk`, dP = dy·v the operands `dyv`.
template <bool kRowsAreKeys>
__global__ void __launch_bounds__(kThreads, kRowsAreKeys ? 3 : 4)
    attention_backward_kernel(const AttentionShape shape, const AttentionBackward arrays) {
  extern __shared__ __align__(1024) bf16 tiles[];  // the block's own two; [stage][2] of the others
  bf16* stages = tiles + 2 * kTileValues;
  // [stage][64], where the columns are queries.
  auto* tile_stats = reinterpret_cast<RowStats*>(tiles + kTiles * kTileValues);
  auto* bias = reinterpret_cast<float*>(tile_stats + (kRowsAreKeys ? 2 * kTile : 0));
  const int distances = 2 * static_cast<int>(shape.max_distance) + 1;
  float* warp_dbias = bias + shared_bias_values(shape);  // [warp][distances]
  const BatchHead head_index = batch_head_of_block();
  const int warp = threadIdx.x / kLanes;
  grid_dependency_wait();
  const BiasAndMask mask = bias_and_mask(shape, head_index, arrays.lengths, bias);
  const int first =
      static_cast<int>(kRowsAreKeys ? blockIdx.x : gridDim.x - 1 - blockIdx.x) * kRows;
  const int rows = kRowsAreKeys ? static_cast<int>(shape.keys) : mask.queries;
  const AttentionRows& own_qk = kRowsAreKeys ? arrays.k : arrays.q;
  const AttentionRows& own_dyv = kRowsAreKeys ? arrays.v : arrays.dy;
  const AttentionRows& other_qk = kRowsAreKeys ? arrays.q : arrays.k;
  const AttentionRows& other_dyv = kRowsAreKeys ? arrays.dy : arrays.v;
  int begin = 0, end = 0;
  if constexpr (kRowsAreKeys) {
    begin = mask.causal ? max(0, first - mask.shift) / kTile * kTile : 0;
    end = first < mask.keys ? mask.queries : 0;
  } else {
    end = visible_keys(mask, min(first + kRows, mask.queries) - 1);
  }
  const int64_t query_row = query_offset(shape, head_index);
  const auto stats_of = [&](int query) -> RowStats {
    if (query >= mask.queries) return {INFINITY, 0};
    return {arrays.lse[query_row + query], arrays.delta[query_row + query]};
  };
  const auto copy_stage = [&](int stage, int column) {
    copy_tile(stages + 2 * stage * kTileValues, other_qk, head_index, column, end);
    copy_tile(stages + (2 * stage + 1) * kTileValues, other_dyv, head_index, column, end);
    if (kRowsAreKeys && threadIdx.x < kTile) {
      tile_stats[stage * kTile + threadIdx.x] = stats_of(column + static_cast<int>(threadIdx.x));
    }
  };

  if (begin < end) {
    const int real = kRowsAreKeys ? mask.keys : rows;
    copy_tile(tiles, own_qk, head_index, first, real);
    copy_tile(tiles + kTileValues, own_dyv, head_index, first, real);
    copy_stage(0, begin);
  }
  load_bias(bias, arrays.bias, shape, head_index.head);
  BiasGradient bias_gradient{warp_dbias + warp * distances,
                             warp_dbias + kWarps * distances + warp * kSkewed};
  if (kRowsAreKeys && shape.max_distance > 0) bias_gradient.clear(distances);

  const int row = first + 16 * warp;
  RowStats row_stats[2];  // where the rows are queries
  if constexpr (!kRowsAreKeys) {
#pragma unroll
    for (int half = 0; half < 2; ++half) row_stats[half] = stats_of(row + fragment_row(2 * half));
  }
  Sums dqk = {}, dv = {};
  for (int column = begin, stage = 0; column < end; column += kTile, stage ^= 1) {
    wait_for_tiles();
    if (column + kTile < end) copy_stage(stage ^ 1, column + kTile);
    const bf16* tile_qk = stages + 2 * stage * kTileValues;
    const bf16* tile_dyv = tile_qk + kTileValues;
    const auto stats_at = [&](int part, int i) {
      return kRowsAreKeys ? tile_stats[stage * kTile + fragment_column(part, i)] : row_stats[i / 2];
    };
    Sums p, ds;
    matmul_nt(p, tiles, tile_qk);
    matmul_nt(ds, tiles + kTileValues, tile_dyv);
    wait_for_matmuls(p, ds);
    scores_to_exponents<kRowsAreKeys>(p, mask, row, column,
                                      [&](int part, int i) { return stats_at(part, i).lse; });
    exponents_to_p_and_ds(p, ds, stats_at);
    Fragments ds_fragments, p_fragments;
    to_fragments(ds_fragments, ds);
    if constexpr (kRowsAreKeys) {
      to_fragments(p_fragments, p);
      matmul_nn(dv, p_fragments, tile_dyv);
    }
    matmul_nn(dqk, ds_fragments, tile_qk);
    if constexpr (kRowsAreKeys) {
      if (shape.max_distance > 0) bias_gradient.add(ds, mask, row, column);
    }
    wait_for_matmuls(dqk, dv);
  }

  const float whole[2] = {1, 1};
  store_rows(kRowsAreKeys ? arrays.dk : arrays.dq, head_index, row, rows, dqk, whole);
  if constexpr (kRowsAreKeys) {
    store_rows(arrays.dv, head_index, row, rows, dv, whole);
    if (shape.max_distance == 0) return;
    const float below = warp_sum(bias_gradient.below), beyond = warp_sum(bias_gradient.beyond);
    if (threadIdx.x % kLanes == 0) {
      bias_gradient.near[0] = below;
      bias_gradient.near[distances - 1] = beyond;
    }
    __syncthreads();
    float* to = arrays.dbias +
                ((head_index.batch * static_cast<int64_t>(gridDim.x) + blockIdx.x) * shape.heads +
                 head_index.head) *
                    distances;
    for (int i = threadIdx.x; i < distances; i += kThreads) {
      float sum = 0;
      for (int w = 0; w < kWarps; ++w) sum += warp_dbias[w * distances + i];
      to[i] = sum;
    }
  }
}

size_t shared_bytes_of_keys(const AttentionShape& shape) {
  const int64_t distances = 2 * shape.max_distance + 1;
  return shared_bytes(shape) + 2 * kTile * sizeof(RowStats) +
         (shape.max_distance > 0 ? kWarps * (distances + kSkewed) * sizeof(float) : 0);
}

}  // namespace

void attention_backward_cuda(const AttentionShape& shape, const AttentionBackward& arrays,
                             Stream stream) {
  check_attention(shape, {&arrays.q, &arrays.k, &arrays.v, &arrays.y, &arrays.dy, &arrays.dq,
                          &arrays.dk, &arrays.dv});
  if (shape.batch * shape.heads == 0) return;
  const auto on = static_cast<cudaStream_t>(stream);
  if (attention_backward_of_few_queries(shape, arrays, on)) return;
  const size_t bytes = shared_bytes(shape), bytes_of_keys = shared_bytes_of_keys(shape);
  if (shape.queries > 0) {
    launch_dependent(attention_delta_kernel, grid_of(shape, shape.queries, kThreads / 8), kThreads,
                     0, on, shape, arrays);
    allow_shared_memory(attention_backward_kernel<false>, shared_bytes(kMaxShared));
    launch_dependent(attention_backward_kernel<false>, grid_of(shape, shape.queries, kRows),
                     kThreads, bytes, on, shape, arrays);
  }
  if (shape.keys > 0) {
    allow_shared_memory(attention_backward_kernel<true>, shared_bytes_of_keys(kMaxShared));
    launch_dependent(attention_backward_kernel<true>, grid_of(shape, shape.keys, kRows), kThreads,
                     bytes_of_keys, on, shape, arrays);
  }
}

}  // namespace convseq::kernels
