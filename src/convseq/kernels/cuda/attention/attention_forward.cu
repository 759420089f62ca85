#include "convseq/kernels/checks.h"
#include "convseq/kernels/cuda/attention/attention_tile.cuh"

namespace convseq::kernels {
namespace {

using namespace attention;

constexpr int kM = 2;  // times 16 queries per warp: keys and values are read half as often
constexpr int kRows = 16 * kM * kWarps;
static_assert(kM == 2, "wait_for_matmuls() names both");

// Online softmax: P = 2^(exponent − base), where the base is the largest exponent of the row so far
// or less than this below it. Rescaling for smaller differences would only cost time.
constexpr float kRescaleThreshold = 8;

// A block has 128 queries and loops over the keys and values.
__global__ void __launch_bounds__(kThreads, 3)
    attention_forward_kernel(const AttentionShape shape, const AttentionForward arrays) {
  extern __shared__ __align__(1024) bf16 tiles[];  // queries; [stage][keys, values]
  auto* bias = reinterpret_cast<float*>(tiles + kTiles * kTileValues);
  const BatchHead head_index = batch_head_of_block();
  const int lane = threadIdx.x % kLanes, warp = threadIdx.x / kLanes;
  grid_dependency_wait();
  const BiasAndMask mask = bias_and_mask(shape, head_index, arrays.lengths, bias);
  // The last causal queries see the most keys, so their blocks are scheduled first.
  const int first = static_cast<int>(gridDim.x - 1 - blockIdx.x) * kRows;
  const int end = visible_keys(mask, min(first + kRows, mask.queries) - 1);
  bf16* stages = tiles + 2 * kTileValues;
  const auto copy_stage = [&](int stage, int key) {
    copy_tile(stages + 2 * stage * kTileValues, arrays.k, head_index, key, end);
    copy_tile(stages + (2 * stage + 1) * kTileValues, arrays.v, head_index, key, end);
  };

#pragma unroll
  for (int m = 0; m < kM; ++m) {
    copy_tile(tiles + m * kTileValues, arrays.q, head_index, first + m * kTile, mask.queries);
  }
  copy_stage(0, 0);
  load_bias(bias, arrays.bias, shape, head_index.head);
  wait_for_tiles();
  const int row = first + 16 * warp;  // and 64 rows below it, the other half of the queries

  Sums y[kM] = {};
  float row_base[kM][2] = {}, row_total[kM][2] = {};  // by half of the 16 rows
  for (int key = 0, stage = 0; key < end; key += kTile, stage ^= 1) {
    if (key > 0) wait_for_tiles();
    if (key + kTile < end) copy_stage(stage ^ 1, key + kTile);
    bf16* keys = stages + 2 * stage * kTileValues;
    Sums scores[kM];
#pragma unroll
    for (int m = 0; m < kM; ++m) {
      matmul_nt(scores[m], tiles + m * kTileValues, keys);
    }
    wait_for_matmuls(scores[0], scores[1]);
    Fragments p[kM];
#pragma unroll
    for (int m = 0; m < kM; ++m) {
      scores_to_exponents<false>(scores[m], mask, row + kTile * m, key,
                                 [&](int, int i) { return row_base[m][i / 2]; });
      float tile_max[2];
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        tile_max[half] = -INFINITY;
#pragma unroll
        for (int part = 0; part < kColumnTiles; ++part) {
          tile_max[half] = fmaxf(tile_max[half],
                                 fmaxf(scores[m][part][2 * half], scores[m][part][2 * half + 1]));
        }
        tile_max[half] = quad_max(tile_max[half]);
      }
      if (key == 0 || __any_sync(kAllLanes, fmaxf(tile_max[0], tile_max[1]) > kRescaleThreshold)) {
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          const bool raise = tile_max[half] > (key == 0 ? -INFINITY : kRescaleThreshold);
          const float raise_by = raise ? tile_max[half] : 0.f,
                      scale = key == 0 ? 0.f : exp2_approx(-raise_by);
          row_base[m][half] += raise_by;
          row_total[m][half] *= scale;
#pragma unroll
          for (int part = 0; part < kColumnTiles; ++part) {
#pragma unroll
            for (int i = 2 * half; i < 2 * half + 2; ++i) {
              scores[m][part][i] -= raise_by;
              y[m][part][i] *= scale;
            }
          }
        }
      }
#pragma unroll
      for (int part = 0; part < kColumnTiles; ++part) {
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          scores[m][part][i] = exp2_approx(scores[m][part][i]);
          row_total[m][i / 2] += scores[m][part][i];
        }
      }
      to_fragments(p[m], scores[m]);
    }
#pragma unroll
    for (int m = 0; m < kM; ++m) matmul_nn(y[m], p[m], keys + kTileValues);
    wait_for_matmuls(y[0], y[1]);
  }

#pragma unroll
  for (int m = 0; m < kM; ++m) {
    float scale[2];
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const float sum = quad_sum(row_total[m][half]);
      scale[half] = sum == 0 ? 0.f : 1 / sum;
      const int query = row + kTile * m + fragment_row(2 * half);
      if (lane % 4 == 0 && query < mask.queries) {
        // Where no key is visible: exponents minus this are −infinity in the backward pass.
        arrays.lse[query_offset(shape, head_index) + query] =
            sum == 0 ? INFINITY : row_base[m][half] + log2f(sum);
      }
    }
    store_rows(arrays.y, head_index, row + kTile * m, mask.queries, y[m], scale);
  }
}

}  // namespace

void attention_forward_cuda(const AttentionShape& shape, const AttentionForward& arrays,
                            Stream stream) {
  check_attention(shape, {&arrays.q, &arrays.k, &arrays.v, &arrays.y});
  if (shape.batch * shape.heads * shape.queries == 0) return;
  const size_t bytes = shared_bytes(shape);
  allow_shared_memory(attention_forward_kernel, shared_bytes(kMaxShared));
  launch_dependent(attention_forward_kernel, grid_of(shape, shape.queries, kRows), kThreads, bytes,
                   static_cast<cudaStream_t>(stream), shape, arrays);
}

}  // namespace convseq::kernels
