#include <algorithm>

#include "convseq/kernels/cuda/common.cuh"
#include "convseq/kernels/embedding.h"

namespace convseq::kernels {
namespace {

// The sorted ids are cut into windows, a block each, so that a frequent id is many blocks' work. A
// run of equal ids inside a window goes to the table at once. Of a run that crosses borders each
// window leaves a sum, and the window where it begins adds them up afterwards.
constexpr int kWindow = 32;
constexpr int kMostThreads = 256;
constexpr int kInFlight = 4;  // rows that a thread waits for at a time
constexpr int kSlices = 8;    // warps that share the windows of a crossing run
constexpr int kCrossingThreads = kSlices * kLanes;

enum Part { kHead, kTail, kParts };  // of a window: its first run, its last

// What becomes of a run's sum behind an id.
enum class Next { GoesOn, ToTable, ToHead, ToTail, Dropped };

int64_t windows_of(const EmbeddingShape& shape) { return ceil_div<int64_t>(shape.ids, kWindow); }

__device__ bool is_row(const EmbeddingShape& shape, int id) { return id >= 0 && id < shape.rows; }

// [windows, kParts, C]
__device__ float* part_of(const EmbeddingShape& shape, const EmbeddingBackward& arrays,
                          int64_t window, Part part) {
  return static_cast<float*>(arrays.workspace) + (window * kParts + part) * shape.channels;
}

struct Window {
  int64_t first, last;  // of the sorted ids, without `last`
  int first_id, last_id;
  bool from_before, goes_on;  // its first run began in an earlier window, its last does not end

  __device__ Window(const EmbeddingShape& shape, const int32_t* sorted, int64_t index) {
    first = index * kWindow;
    last = first + kWindow < shape.ids ? first + kWindow : shape.ids;
    first_id = sorted[first];
    last_id = sorted[last - 1];
    from_before = first > 0 && sorted[first - 1] == first_id;
    goes_on = last < shape.ids && sorted[last] == last_id;
  }
  __device__ bool begins_crossing_run() const {
    return goes_on && !(from_before && first_id == last_id);
  }
  __device__ Next where_ends(const EmbeddingShape& shape, int id) const {
    if (from_before && id == first_id) return Next::ToHead;
    if (goes_on && id == last_id) return Next::ToTail;
    return is_row(shape, id) ? Next::ToTable : Next::Dropped;
  }
};

// Sixteen bytes at a time: all that is_aligned() knows.
template <int V>
__device__ void store_floats(float* to, const float (&values)[V]) {
  constexpr int kPart = V < 4 ? V : 4;
#pragma unroll
  for (int v = 0; v < V; v += kPart) {
    float part[kPart];
#pragma unroll
    for (int i = 0; i < kPart; ++i) part[i] = values[v + i];
    store_values(to + v, part);
  }
}

// Here the compiler takes a plain store of a pack apart, into one a value.
template <class T, int V>
__device__ void store_row(T* to, const float (&values)[V]) {
  const auto pack = pack_values<T, V>(values);
  if constexpr (sizeof(pack) == sizeof(float4)) {
    __stwb(reinterpret_cast<float4*>(to), reinterpret_cast<const float4&>(pack));
  } else {
    store_values(to, values);
  }
}

template <int V>
__device__ void add_to(float (&sum)[V], const float (&values)[V]) {
#pragma unroll
  for (int v = 0; v < V; ++v) sum[v] += values[v];
}

template <class T, int V>
__global__ void __launch_bounds__(kMostThreads)
    embedding_window_kernel(EmbeddingShape shape, EmbeddingBackward arrays) {
  __shared__ int ids[kWindow];
  __shared__ int64_t places[kWindow];
  __shared__ Next nexts[kWindow];
  const int64_t index = blockIdx.x;
  const Window window(shape, arrays.sorted, index);
  if (threadIdx.x < kWindow) {
    // Behind the last id its row is read again, into a sum that goes nowhere.
    const int64_t at = window.first + threadIdx.x;
    const int64_t real = at < window.last ? at : window.last - 1;
    const int id = arrays.sorted[real];
    const bool ends = at + 1 == window.last || (at < window.last && arrays.sorted[at + 1] != id);
    ids[threadIdx.x] = id;
    places[threadIdx.x] = arrays.order[real];
    nexts[threadIdx.x] = ends ? window.where_ends(shape, id) : Next::GoesOn;
  }
  __syncthreads();

  const int count = static_cast<int>(window.last - window.first);
  const int64_t channels = shape.channels;
  const int step = blockDim.x * V;
  for (int64_t c = threadIdx.x * V; c < channels; c += step) {
    const T* dy = static_cast<const T*>(arrays.dy) + c;
    T* table = static_cast<T*>(arrays.table) + c;
    float sum[V] = {};
    for (int begin = 0; begin < count; begin += kInFlight) {
      Pack<T, V> rows[kInFlight], before[kInFlight];
#pragma unroll
      for (int i = 0; i < kInFlight; ++i) {
        rows[i] = load_pack<T, V>(dy + places[begin + i] * channels);
        if (nexts[begin + i] == Next::ToTable) {
          before[i] = load_pack<T, V>(table + ids[begin + i] * channels);
        }
      }
#pragma unroll
      for (int i = 0; i < kInFlight; ++i) {
        float values[V];
        unpack(rows[i], values);
        add_to(sum, values);
        const Next next = nexts[begin + i];
        if (next == Next::GoesOn) continue;
        if (next == Next::ToTable) {
          unpack(before[i], values);
          add_to(sum, values);
          store_row(table + ids[begin + i] * channels, sum);
        } else if (next != Next::Dropped) {
          const Part part = next == Next::ToHead ? kHead : kTail;
          store_floats(part_of(shape, arrays, index, part) + c, sum);
        }
#pragma unroll
        for (int v = 0; v < V; ++v) sum[v] = 0;
      }
    }
  }
}

// The run that begins at the end of a window and goes on behind it: its tail and the heads of the
// windows after it, every kSlices-th to a warp.
template <class T, int V>
__global__ void __launch_bounds__(kCrossingThreads)
    embedding_crossing_kernel(EmbeddingShape shape, EmbeddingBackward arrays, int64_t windows) {
  __shared__ alignas(16) float sums[kSlices][kLanes * V];
  const int64_t index = blockIdx.x;
  const Window window(shape, arrays.sorted, index);
  const int id = window.last_id;
  if (!window.begins_crossing_run() || !is_row(shape, id)) return;

  int64_t end = index + 1;  // of the windows whose heads belong to the run
  for (int found = kCrossingThreads; found == kCrossingThreads; end += found) {
    const int64_t at = end + threadIdx.x;
    found = __syncthreads_count(at < windows && arrays.sorted[at * kWindow] == id);
  }

  const int slice = threadIdx.x / kLanes, lane = threadIdx.x % kLanes;
  const int64_t c = (int64_t{blockIdx.y} * kLanes + lane) * V;
  float sum[V] = {};
  if (c < shape.channels) {
    if (slice == 0) load_values(part_of(shape, arrays, index, kTail) + c, sum);
#pragma unroll 4
    for (int64_t at = index + 1 + slice; at < end; at += kSlices) {
      float values[V];
      load_values(part_of(shape, arrays, at, kHead) + c, values);
      add_to(sum, values);
    }
  }
  store_values(&sums[slice][lane * V], sum);
  __syncthreads();
  if (slice > 0 || c >= shape.channels) return;
  float values[V];
#pragma unroll
  for (int other = 1; other < kSlices; ++other) {
    load_values(&sums[other][lane * V], values);
    add_to(sum, values);
  }
  T* row = static_cast<T*>(arrays.table) + id * shape.channels + c;
  load_values(row, values);
  add_to(sum, values);
  store_values(row, sum);
}

// V: channels of a thread; K: of a thread where they are sums in fp32.
template <class T, int V, int K>
void launch(const EmbeddingShape& shape, const EmbeddingBackward& arrays, cudaStream_t stream) {
  const int64_t windows = windows_of(shape);
  const unsigned blocks = checked_grid(windows, "embedding");
  const int64_t packs = ceil_div<int64_t>(ceil_div<int64_t>(shape.channels, V), kLanes) * kLanes;
  const auto threads = static_cast<unsigned>(std::min<int64_t>(packs, kMostThreads));
  embedding_window_kernel<T, V><<<blocks, threads, 0, stream>>>(shape, arrays);
  if (windows == 1) return;
  const auto strips = static_cast<unsigned>(ceil_div<int64_t>(shape.channels, kLanes * K));
  embedding_crossing_kernel<T, K>
      <<<dim3(blocks, strips), kCrossingThreads, 0, stream>>>(shape, arrays, windows);
}

}  // namespace

size_t embedding_backward_workspace_cuda(const EmbeddingShape& shape) {
  return windows_of(shape) * kParts * shape.channels * sizeof(float);
}

void embedding_backward_cuda(const EmbeddingShape& shape, const EmbeddingBackward& arrays,
                             Stream on) {
  if (shape.ids == 0 || shape.rows == 0 || shape.channels == 0) return;
  const auto stream = static_cast<cudaStream_t>(on);
  with_type(shape.type, [&](auto type) {
    using T = decltype(type);
    constexpr int kPack = 16 / sizeof(T);
    const bool packed = shape.channels % kPack == 0 && is_aligned(arrays.dy) &&
                        is_aligned(arrays.table) && is_aligned(arrays.workspace);
    packed ? launch<T, kPack, 4>(shape, arrays, stream) : launch<T, 1, 1>(shape, arrays, stream);
  });
  check_launch("embedding");
}

}  // namespace convseq::kernels
