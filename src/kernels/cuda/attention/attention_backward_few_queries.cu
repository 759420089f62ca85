#include "convseq/kernels/cuda/attention/attention_paths.h"
#include "convseq/kernels/cuda/attention/attention_tile.cuh"

namespace convseq::kernels {
namespace {

using namespace attention;

constexpr int kGroups = 2;  // of four warps, which multiply together
constexpr int kQueries = kGroups * kTile;
constexpr int kTilesOfGroup = 4, kTilesOfStage = 2, kStages = 2;
constexpr size_t kSharedBytes =
    (kGroups * kTilesOfGroup + kStages * kTilesOfStage) * kTileValues * sizeof(bf16);

// A block has all queries of a head, a group 64 of them, and keys and values march by. What a group
// finds between its queries and 64 keys goes through shared memory to both: one then has the whole
// gradient of the values, the other that of the keys.
__global__ void __launch_bounds__(kGroups* kThreads, 2)
    attention_backward_of_few_queries_kernel(const AttentionShape shape,
                                             const AttentionBackward arrays) {
  extern __shared__ __align__(1024) bf16 tiles[];
  bf16* q = tiles;  // [group], as are the next three
  bf16* dy = q + kGroups * kTileValues;
  bf16* shares = dy + kGroups * kTileValues;
  bf16* dscores = shares + kGroups * kTileValues;
  bf16* stages = dscores + kGroups * kTileValues;  // [stage][keys, values]
  const Place place = place_of_block();
  const int group = __shfl_sync(kAllLanes, threadIdx.x / kThreads, 0);  // one for all of a warp
  const int own = group * kTileValues;
  wait_for_work_before();
  Between positions = between(shape, place, arrays.lengths, nullptr);
  positions.max_distance = 0;  // there is no bias, for the compiler to know
  const int end = positions.keys;
  const auto copy_stage = [&](int stage, int key) {
    copy_tile(stages + (kTilesOfStage * stage + group) * kTileValues,
              group == 0 ? arrays.k : arrays.v, place, key, end);
  };

  if (end > 0) {
    copy_tile(q + own, arrays.q, place, group * kTile, positions.queries);
    copy_tile(dy + own, arrays.dy, place, group * kTile, positions.queries);
    copy_stage(0, 0);
  }
  const int row = group * kTile + warp_in_tile() * 16;
  QueryMark mark[2];
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int query = row + row_in(2 * half);
    const int real = min(query, positions.queries - 1);  // so that all loads are on their way
    const int eighth = threadIdx.x % 4;
    const float delta = row_sum(delta_of_eighth(arrays, place, real, eighth) +
                                delta_of_eighth(arrays, place, real, eighth + 4));
    const float lse = arrays.lse[first_query(shape, place) + real];
    mark[half] = query == real ? QueryMark{lse, delta} : QueryMark{INFINITY, 0};
  }

  const float whole[2] = {1, 1};
  const auto store = [&](int key, const Sums& sums) {
    store_rows(group == 0 ? arrays.dv : arrays.dk, place, key + warp_in_tile() * 16,
               static_cast<int>(shape.keys), sums, whole);
  };
  Sums dq = {};
  int key = 0;
  for (int stage = 0; key < end; key += kTile, stage ^= 1) {
    wait_for_tiles();
    if (key + kTile < end) copy_stage(stage ^ 1, key + kTile);
    const bf16 *k = stages + kTilesOfStage * stage * kTileValues, *v = k + kTileValues;
    Fragments left;
    {
      Sums share, dscore;
      multiply_transposed(share, q + own, k);
      multiply_transposed(dscore, dy + own, v);
      wait_for_matmuls(share, dscore);
      to_exponents<false>(share, positions, row, key, [&](int, int i) { return mark[i / 2].lse; });
      to_shares(share, dscore, [&](int, int i) { return mark[i / 2]; });
      pack_rows(left, share);
      keep_rows(shares + own, left);
      pack_rows(left, dscore);
      keep_rows(dscores + own, left);
    }
    multiply(dq, left, k);
    share_tiles();
    Sums gradient;
    multiply_columns<kGroups>(gradient, group == 0 ? shares : dscores, group == 0 ? dy : q);
    wait_for_matmuls(dq, gradient);
    store(key, gradient);
  }
  store_rows(arrays.dq, place, row, positions.queries, dq, whole);
  for (; key < shape.keys; key += kTile) store(key, {});  // padding
}

}  // namespace

bool attention_backward_of_few_queries(const AttentionShape& shape, const AttentionBackward& arrays,
                                       cudaStream_t stream) {
  if (shape.max_distance > 0 || shape.queries == 0 || shape.queries > kQueries || shape.keys == 0) {
    return false;
  }
  allow_shared_memory(attention_backward_of_few_queries_kernel, kSharedBytes);
  const dim3 blocks(1, static_cast<unsigned>(shape.heads), static_cast<unsigned>(shape.batch));
  launch_dependent(attention_backward_of_few_queries_kernel, blocks, kGroups * kThreads,
                   kSharedBytes, stream, shape, arrays);
  return true;
}

}  // namespace convseq::kernels
