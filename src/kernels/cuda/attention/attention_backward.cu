#include "convseq/kernels/checks.h"
#include "convseq/kernels/cuda/attention/attention_paths.h"
#include "convseq/kernels/cuda/attention/attention_tile.cuh"

namespace convseq::kernels {
namespace {

using namespace attention;

constexpr int kRows = 16 * kWarps;
static_assert(kRows == kAttentionKeys);
constexpr int kDiagonals = kTile + 7;    // of 8 × 64
constexpr int kSkewStride = kTile + 20;  // few lanes that store meet in a bank
constexpr int kSkewed = 8 * kSkewStride;

// delta[row] = Σ y · dy: eight lanes a row.
__global__ void __launch_bounds__(kThreads)
    attention_delta_kernel(const AttentionShape shape, const AttentionBackward arrays) {
  wait_for_work_before();
  const Place place = place_of_block();
  const int queries = static_cast<int>(shape.queries);
  const int query = static_cast<int>(blockIdx.x) * (kThreads / 8) + threadIdx.x / 8;
  const float sum =
      warp_sum<8>(query < queries ? delta_of_eighth(arrays, place, query, threadIdx.x % 8) : 0.f);
  if (query < queries && threadIdx.x % 8 == 0) {
    arrays.delta[first_query(shape, place) + query] = sum;
  }
}

// The gradient of the bias, summed over the pairs that a warp meets: a distance belongs to one
// lane at a time, those at ±max_distance and beyond to registers of all lanes.
struct BiasGradient {
  float* near;       // [2 max_distance + 1] in shared memory, of this warp
  float* skewed;     // [8][kSkewStride] in shared memory, of this warp: a diagonal is a column
  float below = 0;   // at −max_distance and before
  float beyond = 0;  // at max_distance and after

  __device__ void clear(int distances) {
    const int lane = threadIdx.x % kLanes;
    for (int i = lane; i < distances; i += kLanes) near[i] = 0;
    for (int i = lane; i < kSkewed; i += kLanes) skewed[i] = 0;  // corners stay so
  }

  __device__ void add(const Sums& gradients, const Between& positions, int key, int query) {
    if (positions.is_far(key, 16, query, kTile)) {
      float sum = 0;
#pragma unroll
      for (int part = 0; part < kParts; ++part) {
#pragma unroll
        for (int i = 0; i < 4; ++i) sum += gradients[part][i];
      }
      (key - query - positions.shift > 0 ? beyond : below) += sum;
      return;
    }
#pragma unroll
    for (int half = 0; half < 2; ++half) add_half(gradients, half, positions, key, query);
  }

  __device__ void add_half(const Sums& gradients, int half, const Between& positions, int key,
                           int query) {
    __syncwarp();  // the last rows have been read
    float* row = skewed + row_in(0) * (kSkewStride - 1) + 7;
#pragma unroll
    for (int part = 0; part < kParts; ++part) {
#pragma unroll
      for (int i = 0; i < 2; ++i) row[column_in(part, i)] = gradients[part][2 * half + i];
    }
    __syncwarp();
    for (int diagonal = threadIdx.x % kLanes; diagonal < kDiagonals; diagonal += kLanes) {
      float sum = 0;
#pragma unroll
      for (int r = 0; r < 8; ++r) sum += skewed[r * kSkewStride + diagonal];
      const int distance = key - query - positions.shift + 8 * half + 7 - diagonal;
      if (distance <= -positions.max_distance) {
        below += sum;
      } else if (distance >= positions.max_distance) {
        beyond += sum;
      } else {
        near[distance + positions.max_distance] += sum;
      }
    }
  }
};

// kOfKeys: a block has 64 keys with their values and lets queries and gradients of outputs march
// by, for the gradients of keys, values and bias. Otherwise it has queries and gradients, and keys
// and values march by, for the gradient of the queries. The scores are made anew in both: what one
// block could tell the other would have to be added up in memory, in no fixed order.
template <bool kOfKeys>
__global__ void __launch_bounds__(kThreads, kOfKeys ? 3 : 4)
    attention_backward_kernel(const AttentionShape shape, const AttentionBackward arrays) {
  extern __shared__ __align__(1024) bf16 tiles[];  // the block's own two; [stage][2] of the others
  bf16* stages = tiles + 2 * kTileValues;
  // Of queries marching by: [stage][64].
  auto* marks = reinterpret_cast<QueryMark*>(tiles + kTiles * kTileValues);
  auto* bias = reinterpret_cast<float*>(marks + (kOfKeys ? 2 * kTile : 0));
  const int distances = 2 * static_cast<int>(shape.max_distance) + 1;
  float* of_warps = bias + shared_biases(shape);  // [warp][distances], the gradient of the bias
  const Place place = place_of_block();
  const int warp = threadIdx.x / kLanes;
  wait_for_work_before();
  const Between positions = between(shape, place, arrays.lengths, bias);
  const int first = static_cast<int>(kOfKeys ? blockIdx.x : gridDim.x - 1 - blockIdx.x) * kRows;
  const int rows = kOfKeys ? static_cast<int>(shape.keys) : positions.queries;
  const AttentionRows& own = kOfKeys ? arrays.k : arrays.q;
  const AttentionRows& own_too = kOfKeys ? arrays.v : arrays.dy;
  const AttentionRows& other = kOfKeys ? arrays.q : arrays.k;
  const AttentionRows& other_too = kOfKeys ? arrays.dy : arrays.v;
  int begin = 0, end = 0;
  if constexpr (kOfKeys) {
    begin = positions.causal ? max(0, first - positions.shift) / kTile * kTile : 0;
    end = first < positions.keys ? positions.queries : 0;
  } else {
    end = seen_keys(positions, min(first + kRows, positions.queries) - 1);
  }
  const int64_t query_row = first_query(shape, place);
  const auto mark_of = [&](int query) -> QueryMark {
    if (query >= positions.queries) return {INFINITY, 0};
    return {arrays.lse[query_row + query], arrays.delta[query_row + query]};
  };
  const auto copy_stage = [&](int stage, int column) {
    copy_tile(stages + 2 * stage * kTileValues, other, place, column, end);
    copy_tile(stages + (2 * stage + 1) * kTileValues, other_too, place, column, end);
    if (kOfKeys && threadIdx.x < kTile) {
      marks[stage * kTile + threadIdx.x] = mark_of(column + static_cast<int>(threadIdx.x));
    }
  };

  if (begin < end) {
    const int real = kOfKeys ? positions.keys : rows;
    copy_tile(tiles, own, place, first, real);
    copy_tile(tiles + kTileValues, own_too, place, first, real);
    copy_stage(0, begin);
  }
  load_bias(bias, arrays.bias, shape, place.head);
  BiasGradient bias_gradient{of_warps + warp * distances,
                             of_warps + kWarps * distances + warp * kSkewed};
  if (kOfKeys && shape.max_distance > 0) bias_gradient.clear(distances);

  const int row = first + 16 * warp;
  QueryMark mark[2];  // of the queries, where they are the rows
  if constexpr (!kOfKeys) {
#pragma unroll
    for (int half = 0; half < 2; ++half) mark[half] = mark_of(row + row_in(2 * half));
  }
  Sums gradient = {}, gradient_too = {};
  for (int column = begin, stage = 0; column < end; column += kTile, stage ^= 1) {
    wait_for_tiles();
    if (column + kTile < end) copy_stage(stage ^ 1, column + kTile);
    const bf16* theirs = stages + 2 * stage * kTileValues;
    const bf16* theirs_too = theirs + kTileValues;
    const auto mark_at = [&](int part, int i) {
      return kOfKeys ? marks[stage * kTile + column_in(part, i)] : mark[i / 2];
    };
    Sums shares, inner;
    multiply_transposed(shares, tiles, theirs);
    multiply_transposed(inner, tiles + kTileValues, theirs_too);
    wait_for_matmuls(shares, inner);
    to_exponents<kOfKeys>(shares, positions, row, column,
                          [&](int part, int i) { return mark_at(part, i).lse; });
    to_shares(shares, inner, mark_at);
    Fragments left, left_too;
    pack_rows(left, inner);
    if constexpr (kOfKeys) {
      pack_rows(left_too, shares);
      multiply(gradient_too, left_too, theirs_too);
    }
    multiply(gradient, left, theirs);
    if constexpr (kOfKeys) {
      if (shape.max_distance > 0) bias_gradient.add(inner, positions, row, column);
    }
    wait_for_matmuls(gradient, gradient_too);
  }

  const float whole[2] = {1, 1};
  store_rows(kOfKeys ? arrays.dk : arrays.dq, place, row, rows, gradient, whole);
  if constexpr (kOfKeys) {
    store_rows(arrays.dv, place, row, rows, gradient_too, whole);
    if (shape.max_distance == 0) return;
    const float below = warp_sum(bias_gradient.below), beyond = warp_sum(bias_gradient.beyond);
    if (threadIdx.x % kLanes == 0) {
      bias_gradient.near[0] = below;
      bias_gradient.near[distances - 1] = beyond;
    }
    __syncthreads();
    float* to =
        arrays.dbias +
        ((place.batch * static_cast<int64_t>(gridDim.x) + blockIdx.x) * shape.heads + place.head) *
            distances;
    for (int i = threadIdx.x; i < distances; i += kThreads) {
      float sum = 0;
      for (int w = 0; w < kWarps; ++w) sum += of_warps[w * distances + i];
      to[i] = sum;
    }
  }
}

size_t shared_bytes_of_keys(const AttentionShape& shape) {
  const int64_t distances = 2 * shape.max_distance + 1;
  return shared_bytes(shape) + 2 * kTile * sizeof(QueryMark) +
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
    launch_dependent(attention_delta_kernel, blocks_of(shape, shape.queries, kThreads / 8),
                     kThreads, 0, on, shape, arrays);
    allow_shared_memory(attention_backward_kernel<false>, shared_bytes(kMostShared));
    launch_dependent(attention_backward_kernel<false>, blocks_of(shape, shape.queries, kRows),
                     kThreads, bytes, on, shape, arrays);
  }
  if (shape.keys > 0) {
    allow_shared_memory(attention_backward_kernel<true>, shared_bytes_of_keys(kMostShared));
    launch_dependent(attention_backward_kernel<true>, blocks_of(shape, shape.keys, kRows), kThreads,
                     bytes_of_keys, on, shape, arrays);
  }
}

}  // namespace convseq::kernels
