#include "kernels/attention_paths.h"
#include "kernels/attention_tile.cuh"

namespace convseq::kernels {
namespace {

using namespace attention;

constexpr int kGroups = 2;  // of four warps, which multiply together
constexpr int kQueries = kGroups * kTile;
constexpr size_t kSharedBytes = (4 * kGroups + 2 * 2) * kTileValues * sizeof(bf16);

// A block has all queries of a head, a group 64 of them, and keys and values march by. What a group
// finds between its queries and 64 keys goes through shared memory to both: one then has the whole
// gradient of the values, the other that of the keys.
__global__ void __launch_bounds__(kGroups* kThreads, 2)
    attention_backward_of_few_kernel(const AttentionShape shape, const AttentionBackward arrays) {
  extern __shared__ __align__(1024) bf16 tiles[];
  bf16* queries = tiles;  // [group]; and so on
  bf16* slopes = queries + kGroups * kTileValues;
  bf16* shares = slopes + kGroups * kTileValues;
  bf16* share_slopes = shares + kGroups * kTileValues;
  bf16* stages = share_slopes + kGroups * kTileValues;  // [stage][keys, values]
  const Place place = place_of_block();
  const int group = threadIdx.x / kThreads, own = group * kTileValues;
  wait_for_work_before();
  const Between positions =
      between(shape, place, arrays.lengths, reinterpret_cast<const float*>(tiles));
  const int keys = static_cast<int>(shape.keys), end = seen_keys(positions, positions.queries - 1);
  const auto copy_stage = [&](int stage, int key) {
    copy_tile(stages + (2 * stage + group) * kTileValues, group == 0 ? arrays.k : arrays.v, place,
              key, end);
  };

  copy_tile(queries + own, arrays.q, place, group * kTile, positions.queries);
  copy_tile(slopes + own, arrays.dy, place, group * kTile, positions.queries);
  copy_stage(0, 0);
  const int row = group * kTile + warp_in_tile() * 16;
  QueryMark mark[2];
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int query = row + row_in(2 * half);
    mark[half] = {INFINITY, 0};
    if (query < positions.queries) {
      const int eighth = threadIdx.x % 4;
      mark[half] = {arrays.weight[first_query(shape, place) + query],
                    slope_of_eighth(arrays, place, query, eighth) +
                        slope_of_eighth(arrays, place, query, eighth + 4)};
    }
    mark[half].slope = row_sum(mark[half].slope);
  }

  const float whole[2] = {1, 1};
  const auto store = [&](int key, const Sums& sums) {
    store_rows(group == 0 ? arrays.dv : arrays.dk, place, key + warp_in_tile() * 16, keys, sums,
               whole);
  };
  Sums dq = {};
  int key = 0;
  for (int stage = 0; key < end; key += kTile, stage ^= 1) {
    wait_for_tiles();
    if (key + kTile < end) copy_stage(stage ^ 1, key + kTile);
    const bf16 *k = stages + 2 * stage * kTileValues, *v = k + kTileValues;
    Fragments left;
    {
      Sums share, slope;
      multiply_transposed(share, queries + own, k);
      multiply_transposed(slope, slopes + own, v);
      wait_for_products(share, slope);
      to_exponents<false>(share, positions, row, key,
                          [&](int, int i) { return mark[i / 2].weight; });
      to_shares(share, slope, [&](int, int i) { return mark[i / 2]; });
      pack_rows(left, share);
      keep_rows(shares + own, left);
      pack_rows(left, slope);
      keep_rows(share_slopes + own, left);
    }
    multiply(dq, left, k);
    share_tiles();
    Sums gradient;
    multiply_columns<kGroups>(gradient, group == 0 ? shares : share_slopes,
                              group == 0 ? slopes : queries);
    wait_for_products(dq, gradient);
    store(key, gradient);
  }
  store_rows(arrays.dq, place, row, positions.queries, dq, whole);
  for (; key < keys; key += kTile) store(key, {});  // no query sees them
}

}  // namespace

bool attention_backward_of_few(const AttentionShape& shape, const AttentionBackward& arrays,
                               cudaStream_t stream) {
  if (shape.far > 0 || shape.queries == 0 || shape.queries > kQueries || shape.keys == 0) {
    return false;
  }
  allow_shared_memory(attention_backward_of_few_kernel, kSharedBytes);
  launch_early(attention_backward_of_few_kernel, blocks_of(shape, 1, 1), kGroups * kThreads,
               kSharedBytes, stream, shape, arrays);
  return true;
}

}  // namespace convseq::kernels
