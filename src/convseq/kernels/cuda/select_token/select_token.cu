#include "convseq/kernels/cuda/cluster.cuh"
#include "convseq/kernels/cuda/cross_entropy/cross_entropy_row.cuh"
#include "convseq/kernels/select_token.h"

namespace convseq::kernels {
namespace {

using cross_entropy::block_reduce;
using cross_entropy::kThreads;
using cross_entropy::kWarps;
using cross_entropy::SoftmaxStats;
using cross_entropy::warp_reduce;

constexpr int kMostSplits = 8;

__device__ void append_token(const SelectTokenShape& shape, const SelectTokenArrays& arrays,
                             int64_t row, const SoftmaxStats& stats) {
  const int64_t length = arrays.lengths[row];
  if (arrays.ended[row] || length >= shape.capacity) {
    arrays.next[row] = shape.pad;
    return;
  }
  const int64_t token = stats.argmax < shape.classes ? stats.argmax : 0;  // no logit is finite
  arrays.ids[row * shape.capacity + length] = token;
  arrays.log_probabilities[row * shape.capacity + length] = -logf(stats.exp_sum);
  arrays.lengths[row] = length + 1;
  arrays.ended[row] = token == shape.eos;
  arrays.next[row] = token;
}

// The kSplits blocks of a row are a cluster, whose first block combines their statistics.
template <class T, int V, int kSplits>
__global__ void CONVSEQ_CLUSTER(kSplits) __launch_bounds__(kThreads)
    select_token_kernel(SelectTokenShape shape, SelectTokenArrays arrays) {
  __shared__ SoftmaxStats of_warps[kWarps];
  __shared__ SoftmaxStats of_block;
  grid_dependency_wait();
  const int split = blockIdx.x, classes = static_cast<int>(shape.classes);
  const int64_t row = blockIdx.y;
  const T* logits = static_cast<const T*>(arrays.logits) + row * shape.stride;
  SoftmaxStats stats;
  for (int first = (split * kThreads + static_cast<int>(threadIdx.x)) * V; first < classes;
       first += kSplits * kThreads * V) {
    float values[V];
    load_values(logits + first, values);
#pragma unroll
    for (int v = 0; v < V; ++v) stats.add(values[v], first + v);
  }
  stats = block_reduce(stats, of_warps);
  if constexpr (kSplits > 1) {
    if (threadIdx.x == 0) of_block = stats;
    cluster_sync();
    if (split == 0 && threadIdx.x < kLanes) {
      const int lane = threadIdx.x;
      stats = warp_reduce(lane < kSplits ? *in_cluster_block(&of_block, lane) : SoftmaxStats{});
    }
    cluster_sync();  // a block's shared memory lives until the first block has read it
  }
  if (split == 0 && threadIdx.x == 0) append_token(shape, arrays, row, stats);
}

template <class T, int V>
void launch_select(const SelectTokenShape& shape, const SelectTokenArrays& arrays,
                   cudaStream_t stream) {
  const auto rows = static_cast<unsigned>(shape.rows);
  if (has_clusters() && shape.classes > kThreads * V) {
    return launch_dependent(select_token_kernel<T, V, kMostSplits>, dim3(kMostSplits, rows),
                            kThreads, 0, stream, shape, arrays);
  }
  launch_dependent(select_token_kernel<T, V, 1>, dim3(1, rows), kThreads, 0, stream, shape, arrays);
}

}  // namespace

void select_token_cuda(const SelectTokenShape& shape, const SelectTokenArrays& arrays, Stream on) {
  check_select_token(shape);
  if (shape.rows == 0) return;
  const auto stream = static_cast<cudaStream_t>(on);
  with_type(shape.type, [&](auto type) {
    using T = decltype(type);
    constexpr int kPack = 16 / sizeof(T);
    const bool packed =
        is_aligned(arrays.logits) && shape.stride % kPack == 0 && shape.classes % kPack == 0;
    packed ? launch_select<T, kPack>(shape, arrays, stream)
           : launch_select<T, 1>(shape, arrays, stream);
  });
}

}  // namespace convseq::kernels
