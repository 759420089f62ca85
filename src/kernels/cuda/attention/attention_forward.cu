#include "convseq/kernels/checks.h"
#include "convseq/kernels/cuda/attention/attention_tile.cuh"

namespace convseq::kernels {
namespace {

using namespace attention;

constexpr int kM = 2;  // times 16 queries a warp: keys and values are read half as often
constexpr int kRows = 16 * kM * kWarps;
static_assert(kM == 2, "the matmuls waited for by name");

// A share is 2 to the power of its exponent minus a base. The base is the largest exponent a row
// has met, or within this of it: raising it for less would only cost time.
constexpr float kLeeway = 8;

// A block has 128 queries and lets the keys and values march by.
__global__ void __launch_bounds__(kThreads, 3)
    attention_forward_kernel(const AttentionShape shape, const AttentionForward arrays) {
  extern __shared__ __align__(1024) bf16 tiles[];  // queries; [stage][keys, values]
  auto* bias = reinterpret_cast<float*>(tiles + kTiles * kTileValues);
  const Place place = place_of_block();
  const int lane = threadIdx.x % kLanes, warp = threadIdx.x / kLanes;
  wait_for_work_before();
  const Between positions = between(shape, place, arrays.lengths, bias);
  // Of causal queries the last see most: they come first.
  const int first = static_cast<int>(gridDim.x - 1 - blockIdx.x) * kRows;
  const int end = seen_keys(positions, min(first + kRows, positions.queries) - 1);
  bf16* stages = tiles + 2 * kTileValues;
  const auto copy_stage = [&](int stage, int key) {
    copy_tile(stages + 2 * stage * kTileValues, arrays.k, place, key, end);
    copy_tile(stages + (2 * stage + 1) * kTileValues, arrays.v, place, key, end);
  };

#pragma unroll
  for (int m = 0; m < kM; ++m) {
    copy_tile(tiles + m * kTileValues, arrays.q, place, first + m * kTile, positions.queries);
  }
  copy_stage(0, 0);
  load_bias(bias, arrays.bias, shape, place.head);
  wait_for_tiles();
  const int row = first + 16 * warp;  // and 64 further on, the other half of the queries

  Sums y[kM] = {};
  float base[kM][2] = {}, total[kM][2] = {};  // by half
  for (int key = 0, stage = 0; key < end; key += kTile, stage ^= 1) {
    if (key > 0) wait_for_tiles();
    if (key + kTile < end) copy_stage(stage ^ 1, key + kTile);
    bf16* keys = stages + 2 * stage * kTileValues;
    Sums scores[kM];
#pragma unroll
    for (int m = 0; m < kM; ++m) {
      multiply_transposed(scores[m], tiles + m * kTileValues, keys);
    }
    wait_for_matmuls(scores[0], scores[1]);
    Fragments shares[kM];
#pragma unroll
    for (int m = 0; m < kM; ++m) {
      to_exponents<false>(scores[m], positions, row + kTile * m, key,
                          [&](int, int i) { return base[m][i / 2]; });
      float most[2];
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        most[half] = -INFINITY;
#pragma unroll
        for (int part = 0; part < kParts; ++part) {
          most[half] =
              fmaxf(most[half], fmaxf(scores[m][part][2 * half], scores[m][part][2 * half + 1]));
        }
        most[half] = row_max(most[half]);
      }
      if (key == 0 || __any_sync(kAllLanes, fmaxf(most[0], most[1]) > kLeeway)) {
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          const bool raise = most[half] > (key == 0 ? -INFINITY : kLeeway);
          const float further = raise ? most[half] : 0.f,
                      scale = key == 0 ? 0.f : exp2_of(-further);
          base[m][half] += further;
          total[m][half] *= scale;
#pragma unroll
          for (int part = 0; part < kParts; ++part) {
#pragma unroll
            for (int i = 2 * half; i < 2 * half + 2; ++i) {
              scores[m][part][i] -= further;
              y[m][part][i] *= scale;
            }
          }
        }
      }
#pragma unroll
      for (int part = 0; part < kParts; ++part) {
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          scores[m][part][i] = exp2_of(scores[m][part][i]);
          total[m][i / 2] += scores[m][part][i];
        }
      }
      pack_rows(shares[m], scores[m]);
    }
#pragma unroll
    for (int m = 0; m < kM; ++m) multiply(y[m], shares[m], keys + kTileValues);
    wait_for_matmuls(y[0], y[1]);
  }

#pragma unroll
  for (int m = 0; m < kM; ++m) {
    float scale[2];
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const float sum = row_sum(total[m][half]);
      scale[half] = sum == 0 ? 0.f : 1 / sum;
      const int query = row + kTile * m + row_in(2 * half);
      if (lane % 4 == 0 && query < positions.queries) {
        // Without a key: exponents minus this are −infinity in the gradient.
        arrays.lse[first_query(shape, place) + query] =
            sum == 0 ? INFINITY : base[m][half] + log2f(sum);
      }
    }
    store_rows(arrays.y, place, row + kTile * m, positions.queries, y[m], scale);
  }
}

}  // namespace

void attention_forward_cuda(const AttentionShape& shape, const AttentionForward& arrays,
                            Stream stream) {
  check_attention(shape, {&arrays.q, &arrays.k, &arrays.v, &arrays.y});
  if (shape.batch * shape.heads * shape.queries == 0) return;
  const size_t bytes = shared_bytes(shape);
  allow_shared_memory(attention_forward_kernel, shared_bytes(kMostShared));
  launch_dependent(attention_forward_kernel, blocks_of(shape, shape.queries, kRows), kThreads,
                   bytes, static_cast<cudaStream_t>(stream), shape, arrays);
}

}  // namespace convseq::kernels
