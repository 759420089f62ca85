#include "convseq/kernels/cuda/norm/norm_general.cuh"
#include "convseq/kernels/norm.h"

namespace convseq::kernels {
namespace {

using namespace norm;

constexpr int kForwardThreads = 128;
constexpr int kForwardWarps = kForwardThreads / kLanes;

// Blocks per multiprocessor, limited by the registers for P packs per lane.
template <class T, int P>
constexpr int kForwardBlocks = P * sizeof(T) <= 6 ? 7 : 5;
template <class T, int P>
constexpr int kBackwardBlocks = P * sizeof(T) <= 8 ? 2 : 1;

// One warp per row. Values stay packed until they are used, which saves registers for occupancy.
// Few rows are those of a decoding step, where latency counts: all loads are in flight at once.
template <class T, bool kCentred, int P, bool kFewRows>
__global__ void __launch_bounds__(kForwardThreads, kFewRows ? 1 : kForwardBlocks<T, P>)
    forward_kernel(Forward<T> a) {
  grid_dependency_wait();
  const LaneSlice<P> slice{a.channels / kPack};
  const int64_t row = int64_t{blockIdx.x} * kForwardWarps + threadIdx.x / kLanes;
  if (row >= a.rows) return;
  const int64_t begin = row * a.channels;
  const float count = static_cast<float>(a.channels);
  Pack<T, kPack> x_packs[P], residual[P], weights[P], biases[P];
  const auto load_parameters = [&](int p) {
    weights[p] = load_pack<T, kPack>(a.weight + slice.channel(p));
    if constexpr (kCentred) biases[p] = load_pack<T, kPack>(a.bias + slice.channel(p));
  };
  if constexpr (kFewRows) slice.each_pack(load_parameters);
  slice.load(a.x + begin, x_packs);
  if (a.residual != nullptr) slice.load(a.residual + begin, residual);
  float x[P][kPack];
  slice.each_pack([&](int p) { unpack(x_packs[p], x[p]); });

  if constexpr (kCentred) {
    float sum = 0;
    slice.each([&](int p, int v) { sum += x[p][v]; });
    const float mean = warp_sum(sum) / count;
    slice.each([&](int p, int v) { x[p][v] -= mean; });
    if (slice.lane() == 0) a.mean[row] = mean;
  }
  float squares = 0;
  slice.each([&](int p, int v) { squares += x[p][v] * x[p][v]; });
  const float scale = rsqrtf(warp_sum(squares) / count + a.eps);
  if (slice.lane() == 0) a.scale[row] = scale;

  slice.each_pack([&](int p) {
    float weight[kPack], bias[kPack] = {}, addend[kPack] = {};
    if constexpr (!kFewRows) load_parameters(p);
    unpack(weights[p], weight);
    if constexpr (kCentred) unpack(biases[p], bias);
    if (a.residual != nullptr) unpack(residual[p], addend);
#pragma unroll
    for (int v = 0; v < kPack; ++v) x[p][v] = x[p][v] * scale * weight[v] + bias[v] + addend[v];
    store_values(a.y + begin + slice.channel(p), x[p]);
  });
}

// Sums over the warps in their order: [2, C] per block, [C] where not centred.
template <bool kCentred, int P>
__device__ void sum_over_warps(const LaneSlice<P>& slice, int channels,
                               const float (&dweight_sum)[P][kPack],
                               const float (&dbias_sum)[P][kPack], float* shared, int pitch,
                               float* to) {
  float* own = shared + threadIdx.x / kLanes * pitch;
  __syncwarp();  // the previous row has been read
  slice.store(own, dweight_sum);
  if constexpr (kCentred) slice.store(own + channels, dbias_sum);
  __syncthreads();
  for (int i = threadIdx.x; i < (kCentred ? 2 : 1) * channels; i += kThreads) {
    float sum = 0;
#pragma unroll
    for (int warp = 0; warp < kWarps; ++warp) sum += shared[warp * pitch + i];
    to[i] = sum;
  }
}

struct Statistics {
  float mean, scale;
};

template <bool kCentred, class T>
__device__ Statistics statistics_of(const Backward<T>& a, int64_t row) {
  if (row >= a.rows) return {};
  return {kCentred ? a.mean[row] : 0.f, a.scale[row]};
}

// With n = (x − mean) · scale and g = dy · weight:
//   dx = scale · (g − mean(g) − n · mean(g · n)), without mean(g) where not centred,
//   dweight = Σ dy · n, dbias = Σ dy.
// Each warp sums over its rows; each block leaves its sums to sum_kernel.
template <class T, bool kCentred, int P>
__global__ void __launch_bounds__(kThreads, kBackwardBlocks<T, P>) backward_kernel(Backward<T> a) {
  grid_dependency_wait();
  extern __shared__ uint4 shared_memory[];
  using Pipeline = RowPipeline<T, P>;
  const LaneSlice<P> slice{a.channels / kPack};
  const int warp = threadIdx.x / kLanes;
  const Pipeline pipeline{reinterpret_cast<T*>(shared_memory) +
                          warp * Pipeline::kStages * Pipeline::kStage};
  const float count = static_cast<float>(a.channels);
  const int64_t first = int64_t{blockIdx.x} * kWarps + warp;
  constexpr int64_t kStep = int64_t{kBlocks} * kWarps;
#pragma unroll
  for (int i = 0; i < Pipeline::kPrefetch; ++i) pipeline.prefetch(slice, a, first + i * kStep, i);
  Pack<T, kPack> weight[P];
  slice.load(a.weight, weight);
  Statistics next = statistics_of<kCentred>(a, first);
  float dweight_sum[P][kPack] = {}, dbias_sum[P][kPack] = {};
  int stage = 0;
  for (int64_t row = first; row < a.rows; row += kStep) {
    pipeline.prefetch(slice, a, row + Pipeline::kPrefetch * kStep,
                      stage == 0 ? Pipeline::kPrefetch : stage - 1);  // the stage of the row before
    const auto [mean, scale] = next;
    next = statistics_of<kCentred>(a, row + kStep);
    Pack<T, kPack> dx_to_add[P];
    if (a.dx_to_add != nullptr) slice.load(a.dx_to_add + row * a.channels, dx_to_add);
    pipeline.wait();

    float sum = 0, gn = 0;
    slice.each_pack([&](int p) {
      float x[kPack], dy[kPack], w[kPack];
      load_values(pipeline.stage_address(stage, 0, p), x);
      load_values(pipeline.stage_address(stage, 1, p), dy);
      unpack(weight[p], w);
#pragma unroll
      for (int v = 0; v < kPack; ++v) {
        const float n = (x[v] - mean) * scale, g = dy[v] * w[v];
        dweight_sum[p][v] += dy[v] * n;
        if constexpr (kCentred) {
          dbias_sum[p][v] += dy[v];
          sum += g;
        }
        gn += g * n;
      }
    });
    const float mean_gn = scale * (warp_sum(gn) / count);
    const float mean_g = kCentred ? warp_sum(sum) / count : 0.f;
    slice.each_pack([&](int p) {  // reloaded from shared memory to save registers
      float x[kPack], dy[kPack], w[kPack], addend[kPack] = {};
      load_values(pipeline.stage_address(stage, 0, p), x);
      load_values(pipeline.stage_address(stage, 1, p), dy);
      unpack(weight[p], w);
      if (a.dx_to_add != nullptr) unpack(dx_to_add[p], addend);
#pragma unroll
      for (int v = 0; v < kPack; ++v) {
        x[v] = scale * (dy[v] * w[v] - mean_g - (x[v] - mean) * mean_gn) + addend[v];
      }
      store_values(a.dx + row * a.channels + slice.channel(p), x);
    });
    stage = stage == Pipeline::kPrefetch ? 0 : stage + 1;
  }
  sum_over_warps<kCentred>(slice, a.channels, dweight_sum, dbias_sum,
                           reinterpret_cast<float*>(shared_memory),
                           Pipeline::kBytes / static_cast<int>(sizeof(float)),
                           a.sums + int64_t{blockIdx.x} * 2 * a.channels);
}

// Sums the blocks' parts to dweight and dbias. Each warp sums 32 neighbouring values over an eighth
// of the blocks.
template <class T>
__global__ void __launch_bounds__(kThreads)
    sum_kernel(const float* sums, int channels, T* dweight, T* dbias) {
  grid_dependency_wait();
  static_assert(kBlocks % kWarps == 0);
  constexpr int kEach = kBlocks / kWarps;
  __shared__ float parts[kWarps][kLanes];
  const int lane = threadIdx.x % kLanes, warp = threadIdx.x / kLanes;
  const int i = blockIdx.x * kLanes + lane;
  const int count = (dbias == nullptr ? 1 : 2) * channels;
  float part = 0;
  if (i < count) {
    float values[kEach];  // all loads in flight at once
#pragma unroll
    for (int n = 0; n < kEach; ++n) {
      values[n] = sums[int64_t{n * kWarps + warp} * 2 * channels + i];
    }
#pragma unroll
    for (int n = 0; n < kEach; ++n) part += values[n];
  }
  parts[warp][lane] = part;
  __syncthreads();
  if (warp > 0 || i >= count) return;
  float sum = 0;
  for (int each = 0; each < kWarps; ++each) sum += parts[each][lane];
  if (i < channels) {
    dweight[i] = from_float<T>(sum);
  } else {
    dbias[i - channels] = from_float<T>(sum);
  }
}

// Calls use(constant<P>) with P packs per lane, 0 where rows are not divisible by packs or too
// long.
template <class Use>
void with_packs(int64_t channels, bool aligned, Use use) {
  const int64_t packs = ceil_div<int64_t>(channels, kPack * kLanes);
  if (!aligned || channels % kPack != 0 || packs > kMaxPacks) {
    return use(std::integral_constant<int, 0>{});
  }
  if (packs == 1) return use(std::integral_constant<int, 1>{});
  if (packs == 2) return use(std::integral_constant<int, 2>{});
  if (packs == 3) return use(std::integral_constant<int, 3>{});
  use(std::integral_constant<int, 4>{});
}

template <class T, bool kCentred>
void forward(const NormShape& shape, const NormForward& arrays, cudaStream_t stream) {
  const Forward<T> a{shape.rows,
                     static_cast<int>(shape.channels),
                     shape.eps,
                     static_cast<const T*>(arrays.x),
                     static_cast<const T*>(arrays.weight),
                     static_cast<const T*>(arrays.bias),
                     static_cast<const T*>(arrays.residual),
                     static_cast<T*>(arrays.y),
                     arrays.mean,
                     arrays.scale};
  const bool aligned = is_aligned(a.x) && is_aligned(a.weight) && is_aligned(a.bias) &&
                       is_aligned(a.residual) && is_aligned(a.y);
  with_packs(shape.channels, aligned, [&](auto packs) {
    if constexpr (packs.value == 0) {
      general_forward_kernel<T, kCentred>
          <<<checked_grid(shape.rows, "norm"), kThreads, 0, stream>>>(a);
    } else {
      constexpr int64_t kStepRows = 64;
      with_bool(shape.rows <= kStepRows, [&](auto few_rows) {
        const auto kernel = forward_kernel<T, kCentred, packs.value, few_rows.value>;
        launch_dependent(kernel, checked_grid(ceil_div<int64_t>(shape.rows, kForwardWarps), "norm"),
                         kForwardThreads, 0, stream, a);
      });
    }
  });
  check_launch("norm_forward");
}

template <class T, bool kCentred>
void backward(const NormShape& shape, const NormBackward& arrays, cudaStream_t stream) {
  const int channels = static_cast<int>(shape.channels);
  const Backward<T> a{shape.rows,
                      channels,
                      static_cast<const T*>(arrays.x),
                      static_cast<const T*>(arrays.weight),
                      arrays.mean,
                      arrays.scale,
                      static_cast<const T*>(arrays.dy),
                      static_cast<const T*>(arrays.dx_to_add),
                      static_cast<T*>(arrays.dx),
                      static_cast<float*>(arrays.workspace)};
  const bool aligned = is_aligned(a.x) && is_aligned(a.weight) && is_aligned(a.dy) &&
                       is_aligned(a.dx_to_add) && is_aligned(a.dx);
  with_packs(shape.channels, aligned, [&](auto packs) {
    if constexpr (packs.value == 0) {
      if (shape.rows > 0) {
        general_dx_kernel<T, kCentred>
            <<<checked_grid(shape.rows, "norm"), kThreads, 0, stream>>>(a);
      }
      const dim3 grid(ceil_div(channels, kThreads), kBlocks);
      general_sums_kernel<T, kCentred><<<grid, kThreads, 0, stream>>>(a);
    } else {
      const auto kernel = backward_kernel<T, kCentred, packs.value>;
      constexpr size_t kBytes = kWarps * RowPipeline<T, packs.value>::kBytes;
      allow_shared_memory(kernel, kBytes);
      launch_dependent(kernel, kBlocks, kThreads, kBytes, stream, a);
    }
  });
  const int sums = (kCentred ? 2 : 1) * channels;
  launch_dependent(sum_kernel<T>, ceil_div(sums, kLanes), kThreads, 0, stream, a.sums, channels,
                   static_cast<T*>(arrays.dweight), static_cast<T*>(arrays.dbias));
  check_launch("norm_backward");
}

}  // namespace

void norm_forward_cuda(const NormShape& shape, const NormForward& arrays, Stream stream) {
  if (shape.rows == 0 || shape.channels == 0) return;
  with_type(shape.type, [&](auto type) {
    with_bool(shape.centred, [&](auto centred) {
      forward<decltype(type), centred.value>(shape, arrays, static_cast<cudaStream_t>(stream));
    });
  });
}

void norm_backward_cuda(const NormShape& shape, const NormBackward& arrays, Stream stream) {
  if (shape.channels == 0) return;
  with_type(shape.type, [&](auto type) {
    with_bool(shape.centred, [&](auto centred) {
      backward<decltype(type), centred.value>(shape, arrays, static_cast<cudaStream_t>(stream));
    });
  });
}

size_t norm_backward_workspace_cuda(const NormShape& shape) {
  return static_cast<size_t>(kBlocks) * 2 * shape.channels * sizeof(float);
}

}  // namespace convseq::kernels
