#include "convseq/kernels/cuda/attention/attention_step.cuh"
#include "convseq/kernels/cuda/attention/int8_rows.cuh"

namespace convseq::kernels {
namespace {

using namespace step;

constexpr int kTile = kLanes;  // keys per warp: each lane loads the scales of one
constexpr int kStages = 2;     // tiles in flight
constexpr float kLog2e = 1.44269504f;

// Neighbouring lanes share a key, and a warp reads several keys at once.
template <int kChannels>
struct Int8Layout {
  static constexpr int kKeyLanes = kChannels / kInt8Pack;
  static constexpr int kKeys = kLanes / kKeyLanes;  // per load
  static constexpr int kLoads = kTile / kKeys;
  static constexpr int kBlocks = kChannels <= 64 ? 6 : 3;  // per multiprocessor
};

// Each lane reads only the keys and values that it loaded itself. The scales are shared by a warp.
template <int kChannels>
struct Int8Tile {
  uint4 keys[Int8Layout<kChannels>::kLoads][kLanes];
  uint4 values[Int8Layout<kChannels>::kLoads][kLanes];
  float2 scales[kTile];  // of a key and of its value
};

template <int kChannels>
struct Int8Memory {
  Int8Tile<kChannels> tiles[kStages][kWarps];
  BlockSums<kChannels> sums;
};

// Sixteen channels of a query ≈ scale · (256 high + low): 16 bits each, so that the error of int8
// keys is not added to. The sums of products with int8 keys are exact.
struct Int16Query {
  int high[4], low[4];  // four int8 numbers per word
  float scale;
};

template <int kKeyLanes>
__device__ Int16Query quantize_query(const float (&values)[kInt8Pack]) {
  constexpr float kMost = 127 * 256 + 127;
  Int16Query query;
  query.scale = row_max_abs<kKeyLanes>(values) / kMost;
  const float divisor = query.scale > 0 ? query.scale : 1.f;
  int high[kInt8Pack], low[kInt8Pack];
#pragma unroll
  for (int i = 0; i < kInt8Pack; ++i) {
    const int rounded = max(-32639, min(__float2int_rn(values[i] / divisor), 32639));
    high[i] = (rounded + 128) >> 8;
    low[i] = rounded - 256 * high[i];
  }
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const int c = 4 * i;
    query.high[i] = static_cast<int>(pack_bytes(high[c], high[c + 1], high[c + 2], high[c + 3]));
    query.low[i] = static_cast<int>(pack_bytes(low[c], low[c + 1], low[c + 2], low[c + 3]));
  }
  return query;
}

// Over the channels of all lanes of a key.
template <int kKeyLanes>
__device__ float dot(const Int16Query& query, const uint4& key) {
  const unsigned words[4] = {key.x, key.y, key.z, key.w};
  int high = 0, low = 0;
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    high = __dp4a(static_cast<int>(words[i]), query.high[i], high);
    low = __dp4a(static_cast<int>(words[i]), query.low[i], low);
  }
  return static_cast<float>(warp_sum<kKeyLanes>(256 * high + low));
}

__device__ inline void add_weighted(float weight, const uint4& value, float (&sums)[kInt8Pack]) {
  const unsigned words[4] = {value.x, value.y, value.z, value.w};
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    float values[4];
    unpack_int8(words[i], values);
#pragma unroll
    for (int c = 0; c < 4; ++c) sums[4 * i + c] += weight * values[c];
  }
}

// The stored keys that a query sees, and whether its own key is to be added.
struct StoredKeys {
  int8_t *keys, *values;
  float2* scales;
  int position;
  int count;
  bool has_new = false;

  __device__ StoredKeys(const AttentionStepShape& shape, const AttentionStep& arrays, int row,
                        int head)
      : keys(row_of<int8_t>(arrays.k, row, head)), values(row_of<int8_t>(arrays.v, row, head)) {
    const int capacity = static_cast<int>(shape.keys);
    scales = reinterpret_cast<float2*>(arrays.scales) + (row * shape.heads + head) * shape.keys;
    position = arrays.positions == nullptr ? capacity - 1 : static_cast<int>(arrays.positions[row]);
    count = real_length(arrays.lengths, row, capacity);
    if (arrays.new_k.data == nullptr) return;
    count = min(position, capacity);
    has_new = position < capacity;  // otherwise there is no room, and the new key is left out
  }
};

// Quantizes the key and the value of the query's own position, stores them, and returns their
// sums, which are those of the first lanes of the warp.
template <class T, int kChannels>
__device__ SoftmaxSums<kInt8Pack> store_new_key(const StoredKeys& stored, const Int16Query& query,
                                                float bias, const T* new_key, const T* new_value) {
  constexpr int kKeyLanes = Int8Layout<kChannels>::kKeyLanes;
  const int lane = threadIdx.x % kLanes, channel = lane % kKeyLanes * kInt8Pack;
  float values[2][kInt8Pack];
  load_channels(new_key + channel, values[0]);
  load_channels(new_value + channel, values[1]);
  const Int8Channels key = quantize<kKeyLanes>(values[0]), value = quantize<kKeyLanes>(values[1]);
  const float score = bias + dot<kKeyLanes>(query, key.packed) * (query.scale * key.scale);
  SoftmaxSums<kInt8Pack> sums;
  if (lane >= kKeyLanes) return sums;
  const int64_t at = int64_t{stored.position} * kChannels + channel;
  *reinterpret_cast<uint4*>(stored.keys + at) = key.packed;
  *reinterpret_cast<uint4*>(stored.values + at) = value.packed;
  if (lane == 0) stored.scales[stored.position] = {key.scale, value.scale};
  sums.max_score = score;
  sums.weight = 1;
  add_weighted(value.scale, value.packed, sums.values);
  return sums;
}

// As the kernel for keys of the queries' type, but tiles of keys are copied to shared memory ahead
// of their use, the first ones before the kernel ahead has computed the queries.
template <class T, int kChannels, int kSplits>
__global__ void CONVSEQ_CLUSTER(kSplits) __launch_bounds__(kThreads, Int8Layout<kChannels>::kBlocks)
    attention_step_int8_kernel(AttentionStepShape shape, AttentionStep arrays) {
  using Layout = Int8Layout<kChannels>;
  constexpr int kKeyLanes = Layout::kKeyLanes, kKeys = Layout::kKeys, kLoads = Layout::kLoads;
  extern __shared__ uint4 shared_memory[];
  auto& memory = *reinterpret_cast<Int8Memory<kChannels>*>(shared_memory);
  if (!arrays.prefetch_keys) grid_dependency_wait();

  const int split = blockIdx.x, head = blockIdx.y, row = blockIdx.z;
  const int warp = threadIdx.x / kLanes, lane = threadIdx.x % kLanes;
  const int group = lane / kKeyLanes, channel = lane % kKeyLanes * kInt8Pack;
  const StoredKeys stored(shape, arrays, row, head);
  constexpr int kNextTile = kSplits * kWarps * kTile;
  const int first_tile = (split * kWarps + warp) * kTile;
  const auto load_tile = [&](int first, int stage) {  // zeros beyond the stored keys
    if (first < stored.count) {
      Int8Tile<kChannels>& tile = memory.tiles[stage][warp];
#pragma unroll
      for (int i = 0; i < kLoads; ++i) {
        const int key = first + i * kKeys + group;
        const bool real = key < stored.count;
        const int64_t from = int64_t{real ? key : 0} * kChannels + channel;
        cp_async_16(&tile.keys[i][lane], stored.keys + from, real);
        cp_async_16(&tile.values[i][lane], stored.values + from, real);
      }
      const bool real = first + lane < stored.count;
      cp_async<8>(&tile.scales[lane], stored.scales + (real ? first + lane : 0), real);
    }
    cp_async_commit_group();
  };
#pragma unroll
  for (int i = 0; i < kStages; ++i) load_tile(first_tile + i * kNextTile, i);
  if (arrays.prefetch_keys) grid_dependency_wait();

  const int max_distance = static_cast<int>(shape.max_distance);
  const float* bias = arrays.bias == nullptr
                          ? nullptr
                          : arrays.bias + int64_t{head} * (2 * max_distance + 1) + max_distance;
  float channels[kInt8Pack];
  load_channels(row_of<T>(arrays.q, row, head) + channel, channels);
  Int16Query query = quantize_query<kKeyLanes>(channels);
  query.scale *= kLog2e;

  SoftmaxSums<kInt8Pack> sums;
  if (stored.has_new && split == 0 && warp == 0) {
    sums = store_new_key<T, kChannels>(stored, query, bias == nullptr ? 0.f : bias[0] * kLog2e,
                                       row_of<T>(arrays.new_k, row, head),
                                       row_of<T>(arrays.new_v, row, head));
  }
  int stage = 0;
  for (int first = first_tile; first < stored.count; first += kNextTile) {
    float scores[kLoads];
#pragma unroll
    for (int i = 0; i < kLoads; ++i) {  // the bias is in flight while the keys arrive
      const int distance = first + i * kKeys + group - stored.position;
      scores[i] =
          bias == nullptr ? 0.f : kLog2e * bias[max(-max_distance, min(distance, max_distance))];
    }
    cp_async_wait_group<kStages - 1>();
    __syncwarp();
    const Int8Tile<kChannels>& tile = memory.tiles[stage][warp];
    float max_score = sums.max_score;
#pragma unroll
    for (int i = 0; i < kLoads; ++i) {
      const int key = i * kKeys + group;
      scores[i] += dot<kKeyLanes>(query, tile.keys[i][lane]) * (query.scale * tile.scales[key].x);
      if (first + key < stored.count) max_score = fmaxf(max_score, scores[i]);
    }
    sums.rescale(max_score);
#pragma unroll
    for (int i = 0; i < kLoads; ++i) {
      const int key = i * kKeys + group;
      const float weight = first + key < stored.count ? exp2f(scores[i] - max_score) : 0.f;
      sums.weight += weight;
      add_weighted(weight * tile.scales[key].y, tile.values[i][lane], sums.values);
    }
    __syncwarp();  // all lanes have read the scales
    load_tile(first + kStages * kNextTile, stage);
    stage = stage == kStages - 1 ? 0 : stage + 1;
  }
  write_output<kSplits, kKeyLanes>(sums, channel, memory.sums, row_of<T>(arrays.y, row, head));
}

}  // namespace

void attention_step_int8(const AttentionStepShape& shape, const AttentionStep& arrays,
                         cudaStream_t stream) {
  AttentionStep step = arrays;
  step.prefetch_keys = arrays.prefetch_keys && is_capturing(stream);
  launch_step(shape, step, stream, [](auto type, auto channels, auto splits) {
    using T = decltype(type);
    constexpr int kChannels = decltype(channels)::value;
    return StepKernel{.kernel = attention_step_int8_kernel<T, kChannels, decltype(splits)::value>,
                      .keys_per_warp = kTile,
                      .shared_bytes = sizeof(Int8Memory<kChannels>)};
  });
}

}  // namespace convseq::kernels
