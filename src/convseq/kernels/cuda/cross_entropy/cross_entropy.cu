#include <algorithm>

#include "convseq/kernels/cuda/cross_entropy/cross_entropy_row.cuh"

namespace convseq::kernels {
namespace {

using namespace cross_entropy;

constexpr int kPack = 4;

// With P packs per thread: the longest row that fits the registers of a block, blocks per
// multiprocessor.
template <int P>
constexpr int64_t kMaxClasses = int64_t{kThreads * kPack} * P;
template <int P>
constexpr int kBlocksPerSm = P <= 4 ? 3 : 1;

template <class T>
__device__ T* gradient_of(const CrossEntropyShape& shape, const CrossEntropyArrays& arrays,
                          int64_t row) {
  return arrays.gradient == nullptr ? nullptr
                                    : static_cast<T*>(arrays.gradient) + row * shape.classes;
}

__device__ float4* result_of(const CrossEntropyArrays& arrays, int64_t row) {
  return reinterpret_cast<float4*>(arrays.rows) + row;
}

// A row that is ignored: zero loss and gradient.
template <int V, class T>
__device__ void write_zeros(const CrossEntropyShape& shape, const CrossEntropyArrays& arrays,
                            int64_t row, T* gradient) {
  if (threadIdx.x == 0) *result_of(arrays, row) = make_float4(0, 0, 0, 0);
  if (gradient == nullptr) return;
  const float zeros[V] = {};
  const int classes = static_cast<int>(shape.classes);
  for (int c = threadIdx.x * V; c < classes; c += kThreads * V) store_values(gradient + c, zeros);
}

// Any number of classes, one block per row. The second read of the row comes from the cache.
template <class T, int V>
__global__ void __launch_bounds__(kThreads)
    general_kernel(CrossEntropyShape shape, CrossEntropyArrays arrays) {
  __shared__ SoftmaxStats warp_stats[kWarps];
  const int64_t row = blockIdx.x;
  const int classes = static_cast<int>(shape.classes);
  const int64_t label = arrays.labels[row];
  const float* logits = arrays.logits + row * classes;
  T* gradient = gradient_of<T>(shape, arrays, row);
  if (label == shape.ignored) return write_zeros<V>(shape, arrays, row, gradient);

  SoftmaxStats stats;
  for (int c = threadIdx.x * V; c < classes; c += kThreads * V) {
    float x[V];
    load_values(logits + c, x);
#pragma unroll
    for (int v = 0; v < V; ++v) stats.add(x[v] * shape.scale, c + v);
  }
  const SoftmaxStats row_stats = block_reduce(stats, warp_stats);
  const RowLoss loss(arrays, row, row_stats);
  if (threadIdx.x == 0)
    *result_of(arrays, row) = loss.result(shape, row_stats, label, logits[label]);
  if (gradient == nullptr) return;
  const GradientCoefficients coefficients = loss.coefficients(shape, label);
  for (int c = threadIdx.x * V; c < classes; c += kThreads * V) {
    float x[V];
    load_values(logits + c, x);
#pragma unroll
    for (int v = 0; v < V; ++v) x[v] = __expf(x[v] * shape.scale - loss.log_z);
    coefficients.apply(c, x);
    store_values(gradient + c, x);
  }
}

// A thread's packs of a row: pack p begins at class (p · kThreads + thread) · kPack. They are
// prefetched to shared memory while the row before is computed, then loaded to registers.
template <int P>
struct RowSlice {
  int classes;
  float* buffer;  // [classes]

  __device__ static int first_class(int p) {
    return (p * kThreads + static_cast<int>(threadIdx.x)) * kPack;
  }
  template <class Use>
  __device__ void each_pack(Use use) const {  // use(p) for all packs that exist
#pragma unroll
    for (int p = 0; p < P; ++p) {
      if (first_class(p) < classes) use(p);
    }
  }
  __device__ void fetch(const float* row) const {
    each_pack([&](int p) { cp_async_16(buffer + first_class(p), row + first_class(p), true); });
  }
  __device__ void load(float scale, float (&x)[P][kPack]) const {
    cp_async_wait_all();
    each_pack([&](int p) {
      load_values(buffer + first_class(p), x[p]);
#pragma unroll
      for (int v = 0; v < kPack; ++v) x[p][v] *= scale;
    });
  }
  // Replaces the values by exp(x − the thread's max_logit).
  __device__ SoftmaxStats reduce(float (&x)[P][kPack]) const {
    SoftmaxStats stats;
    each_pack([&](int p) {
#pragma unroll
      for (int v = 0; v < kPack; ++v) {
        stats.sum += x[p][v];
        if (x[p][v] > stats.max_logit) stats.argmax = first_class(p) + v;
        stats.max_logit = fmaxf(stats.max_logit, x[p][v]);
      }
    });
    each_pack([&](int p) {
#pragma unroll
      for (int v = 0; v < kPack; ++v) {
        x[p][v] = small_exp(x[p][v] - stats.max_logit);
        stats.exp_sum += x[p][v];
      }
    });
    return stats;
  }
};

// Persistent blocks loop over rows and prefetch the next row while they compute one. Each row is
// read once, and each exponential is computed once.
template <class T, int P>
__global__ void __launch_bounds__(kThreads, kBlocksPerSm<P>)
    cross_entropy_kernel(CrossEntropyShape shape, CrossEntropyArrays arrays) {
  extern __shared__ float4 row_memory[];
  __shared__ SoftmaxStats warp_stats[2][kWarps];
  const int classes = static_cast<int>(shape.classes);
  const RowSlice<P> slice{classes, reinterpret_cast<float*>(row_memory)};
  const auto label_of = [&](int64_t row) {
    return row < shape.rows ? arrays.labels[row] : shape.ignored;
  };
  const auto fetch = [&](int64_t row, int64_t label) {
    if (label != shape.ignored) slice.fetch(arrays.logits + row * classes);
  };
  const int64_t step = gridDim.x;
  int64_t label = label_of(blockIdx.x), next_label = label_of(blockIdx.x + step);
  fetch(blockIdx.x, label);
  int parity = 0;
  for (int64_t row = blockIdx.x; row < shape.rows; row += step) {
    T* gradient = gradient_of<T>(shape, arrays, row);
    const int64_t label_after = label_of(row + 2 * step);
    if (label == shape.ignored) {
      fetch(row + step, next_label);
      write_zeros<kPack>(shape, arrays, row, gradient);
    } else {
      float x[P][kPack], logit = 0;
      slice.load(shape.scale, x);
      if (threadIdx.x == 0) logit = arrays.logits[row * classes + label];
      fetch(row + step, next_label);
      const SoftmaxStats stats = slice.reduce(x);
      const SoftmaxStats row_stats = block_reduce(stats, warp_stats[parity]);
      parity = 1 - parity;
      const RowLoss loss(arrays, row, row_stats);
      if (threadIdx.x == 0) *result_of(arrays, row) = loss.result(shape, row_stats, label, logit);
      if (gradient != nullptr) {
        GradientCoefficients coefficients = loss.coefficients(shape, label);
        coefficients.factor *= __expf(stats.max_logit - loss.log_z);
        slice.each_pack([&](int p) {
          coefficients.apply(slice.first_class(p), x[p]);
          store_values(gradient + slice.first_class(p), x[p]);
        });
      }
    }
    label = next_label;
    next_label = label_after;
  }
}

// Whether a row fits the registers and the shared memory of a block.
bool fits(const CrossEntropyShape& shape) {
  constexpr size_t kStaticBytes = 2048;  // static shared memory of a block, rounded up
  return shape.classes <= kMaxClasses<16> &&
         shape.classes * sizeof(float) + kStaticBytes <=
             static_cast<size_t>(device_attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin));
}

template <class T, int P>
void launch(const CrossEntropyShape& shape, const CrossEntropyArrays& arrays, cudaStream_t stream) {
  const auto kernel = cross_entropy_kernel<T, P>;
  const size_t bytes = shape.classes * sizeof(float);
  const int64_t max_blocks =
      int64_t{kBlocksPerSm<P>} * device_attribute(cudaDevAttrMultiProcessorCount);
  allow_shared_memory(kernel, bytes);
  kernel<<<static_cast<unsigned>(std::min(shape.rows, max_blocks)), kThreads, bytes, stream>>>(
      shape, arrays);
}

template <class T, int V>
void launch_general(const CrossEntropyShape& shape, const CrossEntropyArrays& arrays,
                    cudaStream_t stream) {
  general_kernel<T, V>
      <<<checked_grid(shape.rows, "cross_entropy"), kThreads, 0, stream>>>(shape, arrays);
}

}  // namespace

void cross_entropy_cuda(const CrossEntropyShape& shape, const CrossEntropyArrays& arrays,
                        Stream on) {
  if (shape.rows == 0 || shape.classes == 0) return;
  const auto stream = static_cast<cudaStream_t>(on);
  const bool packed =
      shape.classes % kPack == 0 && is_aligned(arrays.logits) && is_aligned(arrays.gradient);
  with_type(shape.gradient_type, [&](auto type) {
    using T = decltype(type);
    if (!packed) return launch_general<T, 1>(shape, arrays, stream);
    if (!fits(shape)) return launch_general<T, kPack>(shape, arrays, stream);
    if (shape.classes <= kMaxClasses<4>) return launch<T, 4>(shape, arrays, stream);
    launch<T, 16>(shape, arrays, stream);
  });
  check_launch("cross_entropy");
}

}  // namespace convseq::kernels
