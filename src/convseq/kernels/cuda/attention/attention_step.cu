#include "convseq/kernels/cuda/attention/attention_step.cuh"

namespace convseq::kernels {
namespace {

using namespace step;

constexpr int kLoads = 4;  // of keys and of values, in flight at once

// How a warp reads keys: 16 bytes per lane, neighbouring lanes for one key, several keys at once.
template <class T, int kChannels>
struct KeyLayout {
  static constexpr int kPack = 16 / sizeof(T);
  static constexpr int kKeyLanes = kChannels / kPack;
  static constexpr int kKeys = kLanes / kKeyLanes;  // per load
  static constexpr int kTile = kKeys * kLoads;
};

// The keys of one row and head, of which the last may be new.
template <class T>
struct StepKeys {
  T *keys, *values;
  const T *new_key = nullptr, *new_value = nullptr;
  int position;  // of the query
  int visible;   // number of keys

  __device__ StepKeys(const AttentionStepShape& shape, const AttentionStep& arrays, int row,
                      int head)
      : keys(row_of<T>(arrays.k, row, head)), values(row_of<T>(arrays.v, row, head)) {
    const int capacity = static_cast<int>(shape.keys);
    position = arrays.positions == nullptr ? capacity - 1 : static_cast<int>(arrays.positions[row]);
    visible = real_length(arrays.lengths, row, capacity);
    if (arrays.new_k.data == nullptr) return;
    visible = min(position + 1, capacity);
    if (position >= capacity) return;  // no room: the new key is left out
    new_key = row_of<T>(arrays.new_k, row, head);
    new_value = row_of<T>(arrays.new_v, row, head);
  }
  __device__ bool is_new(int key) const { return new_key != nullptr && key == position; }
};

// The tiles of keys take turns among the warps of the kSplits blocks of a row and head, so that the
// work is even at every length. With several splits these blocks are a cluster, and its first block
// adds their sums.
template <class T, int kChannels, int kSplits>
__global__ void CONVSEQ_CLUSTER(kSplits) __launch_bounds__(kThreads)
    attention_step_kernel(AttentionStepShape shape, AttentionStep arrays) {
  using Layout = KeyLayout<T, kChannels>;
  constexpr int kPack = Layout::kPack;
  constexpr float kLog2e = 1.44269504f;
  __shared__ BlockSums<kChannels> shared;
  grid_dependency_wait();

  const int split = blockIdx.x, head = blockIdx.y, row = blockIdx.z;
  const int warp = threadIdx.x / kLanes, lane = threadIdx.x % kLanes;
  const int group = lane / Layout::kKeyLanes, channel = lane % Layout::kKeyLanes * kPack;
  const StepKeys<T> step(shape, arrays, row, head);
  const int max_distance = static_cast<int>(shape.max_distance);
  const float* bias = arrays.bias == nullptr
                          ? nullptr
                          : arrays.bias + int64_t{head} * (2 * max_distance + 1) + max_distance;
  float query[kPack];
  load_values(row_of<T>(arrays.q, row, head) + channel, query);

  SoftmaxSums<kPack> sums;
  for (int first = (split * kWarps + warp) * Layout::kTile; first < step.visible;
       first += kSplits * kWarps * Layout::kTile) {
    Pack<T, kPack> keys[kLoads], values[kLoads];
    float scores[kLoads];
#pragma unroll
    for (int i = 0; i < kLoads; ++i) {
      const int key = first + i * Layout::kKeys + group;
      const int read = min(key, step.visible - 1);
      const bool is_new = step.is_new(read);
      const T* from_key = is_new ? step.new_key : step.keys + read * arrays.k.time;
      const T* from_value = is_new ? step.new_value : step.values + read * arrays.v.time;
      keys[i] = load_pack<T, kPack>(from_key + channel);
      values[i] = load_pack<T, kPack>(from_value + channel);
      // The bias is in flight with them.
      scores[i] =
          bias == nullptr ? 0.f : bias[max(-max_distance, min(read - step.position, max_distance))];
    }
    float max_score = sums.max_score;
#pragma unroll
    for (int i = 0; i < kLoads; ++i) {
      const int key = first + i * Layout::kKeys + group;
      if (key < step.visible && step.is_new(key)) {
        *reinterpret_cast<Pack<T, kPack>*>(step.keys + key * arrays.k.time + channel) = keys[i];
        *reinterpret_cast<Pack<T, kPack>*>(step.values + key * arrays.v.time + channel) = values[i];
      }
      float of_key[kPack];
      unpack(keys[i], of_key);
      float dot = 0;
#pragma unroll
      for (int c = 0; c < kPack; ++c) dot += query[c] * of_key[c];
      scores[i] = (warp_sum<Layout::kKeyLanes>(dot) + scores[i]) * kLog2e;
      if (key < step.visible) max_score = fmaxf(max_score, scores[i]);
    }
    sums.rescale(max_score);
#pragma unroll
    for (int i = 0; i < kLoads; ++i) {
      const bool visible = first + i * Layout::kKeys + group < step.visible;
      const float weight = visible ? exp2f(scores[i] - max_score) : 0.f;
      float of_key[kPack];
      unpack(values[i], of_key);
      sums.weight += weight;
#pragma unroll
      for (int c = 0; c < kPack; ++c) sums.values[c] += weight * of_key[c];
    }
  }

  write_output<kSplits, Layout::kKeyLanes>(sums, channel, shared, row_of<T>(arrays.y, row, head));
}

}  // namespace

void attention_step_cuda(const AttentionStepShape& shape, const AttentionStep& arrays, Stream on) {
  check_attention_step(shape, arrays);
  if (shape.batch == 0 || shape.heads == 0) return;
  const auto stream = static_cast<cudaStream_t>(on);
  if (shape.int8_keys) return attention_step_int8(shape, arrays, stream);
  launch_step(shape, arrays, stream, [](auto type, auto channels, auto splits) {
    using T = decltype(type);
    constexpr int kChannels = decltype(channels)::value;
    return StepKernel{.kernel = attention_step_kernel<T, kChannels, decltype(splits)::value>,
                      .keys_per_warp = KeyLayout<T, kChannels>::kTile};
  });
}

}  // namespace convseq::kernels
