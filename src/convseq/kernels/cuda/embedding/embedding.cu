#include <algorithm>

#include "convseq/kernels/cuda/common.cuh"
#include "convseq/kernels/embedding.h"

namespace convseq::kernels {
namespace {

// The sorted ids are cut into windows, one per block, so that a frequent id is split over many
// blocks. The sum of a run of equal ids inside a window is added to the table at once. For a run
// that crosses windows each window stores a partial sum, and a second kernel adds them up.
constexpr int kWindow = 32;
constexpr int kMaxThreads = 256;
constexpr int kInFlight = 4;  // rows that a thread has in flight
constexpr int kSlices = 8;    // warps per crossing run
constexpr int kCrossingThreads = kSlices * kLanes;

enum Part { kHead, kTail, kParts };  // of a window: its first run, its last

// Where the sum so far goes after an id; None: the run continues.
enum class Destination { None, ToTable, ToHead, ToTail, Dropped };

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
  bool continues_run,
      run_continues;  // its first run began in an earlier window; its last run does not end here

  __device__ Window(const EmbeddingShape& shape, const int32_t* sorted, int64_t index) {
    first = index * kWindow;
    last = first + kWindow < shape.ids ? first + kWindow : shape.ids;
    first_id = sorted[first];
    last_id = sorted[last - 1];
    continues_run = first > 0 && sorted[first - 1] == first_id;
    run_continues = last < shape.ids && sorted[last] == last_id;
  }
  __device__ bool begins_crossing_run() const {
    return run_continues && !(continues_run && first_id == last_id);
  }
  __device__ Destination destination_of(const EmbeddingShape& shape, int id) const {
    if (continues_run && id == first_id) return Destination::ToHead;
    if (run_continues && id == last_id) return Destination::ToTail;
    return is_row(shape, id) ? Destination::ToTable : Destination::Dropped;
  }
};

// In vectors of 16 bytes, the alignment that is_aligned() checks.
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

// The compiler would split a plain store of a pack into one store per value here.
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
__global__ void __launch_bounds__(kMaxThreads)
    embedding_window_kernel(EmbeddingShape shape, EmbeddingBackward arrays) {
  __shared__ int ids[kWindow];
  __shared__ int64_t rows_of_dy[kWindow];
  __shared__ Destination destinations[kWindow];
  const int64_t index = blockIdx.x;
  const Window window(shape, arrays.sorted, index);
  if (threadIdx.x < kWindow) {
    // After the last id its row is read again, into a sum that is not used.
    const int64_t at = window.first + threadIdx.x;
    const int64_t real = at < window.last ? at : window.last - 1;
    const int id = arrays.sorted[real];
    const bool ends = at + 1 == window.last || (at < window.last && arrays.sorted[at + 1] != id);
    ids[threadIdx.x] = id;
    rows_of_dy[threadIdx.x] = arrays.order[real];
    destinations[threadIdx.x] = ends ? window.destination_of(shape, id) : Destination::None;
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
      Pack<T, V> rows[kInFlight], old_rows[kInFlight];
#pragma unroll
      for (int i = 0; i < kInFlight; ++i) {
        rows[i] = load_pack<T, V>(dy + rows_of_dy[begin + i] * channels);
        if (destinations[begin + i] == Destination::ToTable) {
          old_rows[i] = load_pack<T, V>(table + ids[begin + i] * channels);
        }
      }
#pragma unroll
      for (int i = 0; i < kInFlight; ++i) {
        float values[V];
        unpack(rows[i], values);
        add_to(sum, values);
        const Destination next = destinations[begin + i];
        if (next == Destination::None) continue;
        if (next == Destination::ToTable) {
          unpack(old_rows[i], values);
          add_to(sum, values);
          store_row(table + ids[begin + i] * channels, sum);
        } else if (next != Destination::Dropped) {
          const Part part = next == Destination::ToHead ? kHead : kTail;
          store_floats(part_of(shape, arrays, index, part) + c, sum);
        }
#pragma unroll
        for (int v = 0; v < V; ++v) sum[v] = 0;
      }
    }
  }
}

// Sums a run that begins in a window and continues after it: the window's tail and the heads of the
// windows after it, every kSlices-th by one warp.
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

// V: channels per thread; K: channels per thread of the fp32 sums.
template <class T, int V, int K>
void launch(const EmbeddingShape& shape, const EmbeddingBackward& arrays, cudaStream_t stream) {
  const int64_t windows = windows_of(shape);
  const unsigned blocks = checked_grid(windows, "embedding");
  const int64_t packs = ceil_div<int64_t>(ceil_div<int64_t>(shape.channels, V), kLanes) * kLanes;
  const auto threads = static_cast<unsigned>(std::min<int64_t>(packs, kMaxThreads));
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
