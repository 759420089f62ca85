#include <algorithm>

#include "convseq/kernels/cuda/cross_entropy/cross_entropy_row.cuh"

namespace convseq::kernels {
namespace {

using namespace cross_entropy;

constexpr int kPack = 4;

// Of a row in the registers of a block: packs of a thread, blocks on a multiprocessor.
template <int P>
constexpr int64_t kMostClasses = int64_t{kThreads * kPack} * P;
template <int P>
constexpr int kResident = P <= 4 ? 3 : 1;

template <class T>
__device__ T* gradient_of(const CrossEntropyShape& shape, const CrossEntropyArrays& arrays,
                          int64_t row) {
  return arrays.gradient == nullptr ? nullptr
                                    : static_cast<T*>(arrays.gradient) + row * shape.classes;
}

__device__ float4* result_of(const CrossEntropyArrays& arrays, int64_t row) {
  return reinterpret_cast<float4*>(arrays.rows) + row;
}

// A row that does not count: zeros throughout.
template <int V, class T>
__device__ void leave_out(const CrossEntropyShape& shape, const CrossEntropyArrays& arrays,
                          int64_t row, T* gradient) {
  if (threadIdx.x == 0) *result_of(arrays, row) = make_float4(0, 0, 0, 0);
  if (gradient == nullptr) return;
  const float zeros[V] = {};
  const int classes = static_cast<int>(shape.classes);
  for (int c = threadIdx.x * V; c < classes; c += kThreads * V) store_values(gradient + c, zeros);
}

// Any number of classes, a block a row. The second time the row is read it comes from the cache.
template <class T, int V>
__global__ void __launch_bounds__(kThreads)
    general_kernel(CrossEntropyShape shape, CrossEntropyArrays arrays) {
  __shared__ Seen of_warps[kWarps];
  const int64_t row = blockIdx.x;
  const int classes = static_cast<int>(shape.classes);
  const int64_t label = arrays.labels[row];
  const float* logits = arrays.logits + row * classes;
  T* gradient = gradient_of<T>(shape, arrays, row);
  if (label == shape.ignored) return leave_out<V>(shape, arrays, row, gradient);

  Seen seen;
  for (int c = threadIdx.x * V; c < classes; c += kThreads * V) {
    float x[V];
    load_values(logits + c, x);
#pragma unroll
    for (int v = 0; v < V; ++v) seen.add(x[v] * shape.scale, c + v);
  }
  const Seen all = of_block(seen, of_warps);
  const RowLoss loss(arrays, row, all);
  if (threadIdx.x == 0) *result_of(arrays, row) = loss.result(shape, all, label, logits[label]);
  if (gradient == nullptr) return;
  const GradientRule rule = loss.rule(shape, label);
  for (int c = threadIdx.x * V; c < classes; c += kThreads * V) {
    float x[V];
    load_values(logits + c, x);
#pragma unroll
    for (int v = 0; v < V; ++v) x[v] = __expf(x[v] * shape.scale - loss.log_z);
    rule.apply(c, x);
    store_values(gradient + c, x);
  }
}

// A thread's share of a row: pack p stands at class (p · kThreads + thread) · kPack. It waits in
// shared memory until the row before is done, then lives in registers.
template <int P>
struct Share {
  int classes;
  float* waiting;  // [classes]

  __device__ static int place(int p) {
    return (p * kThreads + static_cast<int>(threadIdx.x)) * kPack;
  }
  template <class Use>
  __device__ void each_pack(Use use) const {  // use(p) for all that is there
#pragma unroll
    for (int p = 0; p < P; ++p) {
      if (place(p) < classes) use(p);
    }
  }
  __device__ void fetch(const float* row) const {
    each_pack([&](int p) { copy_16_async(waiting + place(p), row + place(p), true); });
  }
  __device__ void take(float scale, float (&x)[P][kPack]) const {
    wait_for_copies();
    each_pack([&](int p) {
      load_values(waiting + place(p), x[p]);
#pragma unroll
      for (int v = 0; v < kPack; ++v) x[p][v] *= scale;
    });
  }
  // The values become exp(x − the thread's largest).
  __device__ Seen see(float (&x)[P][kPack]) const {
    Seen seen;
    each_pack([&](int p) {
#pragma unroll
      for (int v = 0; v < kPack; ++v) {
        seen.sum += x[p][v];
        if (x[p][v] > seen.largest) seen.at = place(p) + v;
        seen.largest = fmaxf(seen.largest, x[p][v]);
      }
    });
    each_pack([&](int p) {
#pragma unroll
      for (int v = 0; v < kPack; ++v) {
        x[p][v] = small_exp(x[p][v] - seen.largest);
        seen.exponentials += x[p][v];
      }
    });
    return seen;
  }
};

// A block takes row after row; the next is on its way while one is worked on. A row is read once,
// and each of its exponentials made once.
template <class T, int P>
__global__ void __launch_bounds__(kThreads, kResident<P>)
    cross_entropy_kernel(CrossEntropyShape shape, CrossEntropyArrays arrays) {
  extern __shared__ float4 row_memory[];
  __shared__ Seen of_warps[2][kWarps];
  const int classes = static_cast<int>(shape.classes);
  const Share<P> share{classes, reinterpret_cast<float*>(row_memory)};
  const auto label_of = [&](int64_t row) {
    return row < shape.rows ? arrays.labels[row] : shape.ignored;
  };
  const auto fetch = [&](int64_t row, int64_t label) {
    if (label != shape.ignored) share.fetch(arrays.logits + row * classes);
  };
  const int64_t step = gridDim.x;
  int64_t label = label_of(blockIdx.x), next_label = label_of(blockIdx.x + step);
  fetch(blockIdx.x, label);
  int turn = 0;
  for (int64_t row = blockIdx.x; row < shape.rows; row += step) {
    T* gradient = gradient_of<T>(shape, arrays, row);
    const int64_t label_after = label_of(row + 2 * step);
    if (label == shape.ignored) {
      fetch(row + step, next_label);
      leave_out<kPack>(shape, arrays, row, gradient);
    } else {
      float x[P][kPack], logit = 0;
      share.take(shape.scale, x);
      if (threadIdx.x == 0) logit = arrays.logits[row * classes + label];
      fetch(row + step, next_label);
      const Seen seen = share.see(x);
      const Seen all = of_block(seen, of_warps[turn]);
      turn = 1 - turn;
      const RowLoss loss(arrays, row, all);
      if (threadIdx.x == 0) *result_of(arrays, row) = loss.result(shape, all, label, logit);
      if (gradient != nullptr) {
        GradientRule rule = loss.rule(shape, label);
        rule.factor *= __expf(seen.largest - loss.log_z);
        share.each_pack([&](int p) {
          rule.apply(share.place(p), x[p]);
          store_values(gradient + share.place(p), x[p]);
        });
      }
    }
    label = next_label;
    next_label = label_after;
  }
}

// Whether rows fit the registers and the shared memory of a block.
bool fits(const CrossEntropyShape& shape) {
  constexpr size_t kBeside = 2048;  // what else a block has in shared memory
  return shape.classes <= kMostClasses<16> &&
         shape.classes * sizeof(float) + kBeside <=
             static_cast<size_t>(device_number(cudaDevAttrMaxSharedMemoryPerBlockOptin));
}

template <class T, int P>
void launch(const CrossEntropyShape& shape, const CrossEntropyArrays& arrays, cudaStream_t stream) {
  const auto kernel = cross_entropy_kernel<T, P>;
  const size_t bytes = shape.classes * sizeof(float);
  const int64_t resident = int64_t{kResident<P>} * device_number(cudaDevAttrMultiProcessorCount);
  allow_shared_memory(kernel, bytes);
  kernel<<<static_cast<unsigned>(std::min(shape.rows, resident)), kThreads, bytes, stream>>>(
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
    if (shape.classes <= kMostClasses<4>) return launch<T, 4>(shape, arrays, stream);
    launch<T, 16>(shape, arrays, stream);
  });
  check_launch("cross_entropy");
}

}  // namespace convseq::kernels
