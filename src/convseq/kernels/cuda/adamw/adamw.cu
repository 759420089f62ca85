#include <algorithm>
#include <vector>

#include "convseq/kernels/adamw.h"
#include "convseq/kernels/cuda/common.cuh"

namespace convseq::kernels {
namespace {

constexpr int kThreads = 256;
constexpr int kPack = 4;
constexpr int64_t kSlice = int64_t{kThreads} * kPack * 16;  // elements of a tensor per block
constexpr int kMaxTensors = 384;  // per launch: their addresses are a kernel argument

struct Tensors {
  AdamWTensor tensor[kMaxTensors];
  int first_block[kMaxTensors + 1];  // of each tensor; the last is the number of blocks
  int count;
  int first_tensor;  // tensors and blocks in the launches before this one
  int blocks_before;
};

struct Slice {
  int tensor;
  int64_t begin, end;
};

__device__ Slice slice_of(const Tensors& all, int block) {
  int low = 0, high = all.count;
  while (high - low > 1) {
    const int middle = (low + high) / 2;
    if (all.first_block[middle] <= block) {
      low = middle;
    } else {
      high = middle;
    }
  }
  const int64_t begin = int64_t{block - all.first_block[low]} * kSlice;
  const int64_t size = all.tensor[low].size;
  return {low, begin, begin + kSlice < size ? begin + kSlice : size};
}

struct Decision {
  float clip;  // factor of every gradient; 0: nothing is updated
};

struct Sums {
  double gradient, parameter;  // of squares
};

// kPack values from `i` on, or those before `end`.
template <class T>
__device__ void load_up_to(const T* from, int64_t i, int64_t end, bool packed,
                           float (&values)[kPack]) {
  if (packed && i + kPack <= end) return load_values(from + i, values);
#pragma unroll
  for (int v = 0; v < kPack; ++v) values[v] = i + v < end ? to_float(from[i + v]) : 0.f;
}

template <class T>
__device__ void store_up_to(T* to, int64_t i, int64_t end, bool packed,
                            const float (&values)[kPack]) {
  if (packed && i + kPack <= end) return store_values(to + i, values);
#pragma unroll
  for (int v = 0; v < kPack; ++v) {
    if (i + v < end) to[i + v] = from_float<T>(values[v]);
  }
}

__device__ bool is_aligned_16(const void* pointer) {
  return reinterpret_cast<uintptr_t>(pointer) % 16 == 0;
}

__device__ bool is_packed(const AdamWTensor& t) {
  return is_aligned_16(t.parameter) && is_aligned_16(t.gradient) && is_aligned_16(t.exp_avg) &&
         is_aligned_16(t.exp_avg_sq) && is_aligned_16(t.copy);
}

__device__ void load_gradient(const AdamWTensor& t, int64_t i, int64_t end, bool packed,
                              float (&g)[kPack]) {
  if (t.gradient_type == Type::Bf16) {
    load_up_to(static_cast<const bf16*>(t.gradient), i, end, packed, g);
  } else {
    load_up_to(static_cast<const float*>(t.gradient), i, end, packed, g);
  }
}

// A thread's part of Σ x² over a slice. In a full slice many vectorised loads are in flight at
// once.
template <class T>
__device__ float squares(const T* from, const Slice& slice, bool packed) {
  constexpr int kValues = 16 / sizeof(T), kAtOnce = 8;
  constexpr int kRound = kThreads * kValues * kAtOnce;
  static_assert(kSlice % kRound == 0);
  float sum = 0;
  if (!packed || slice.end - slice.begin < kSlice) {
    for (int64_t i = slice.begin + threadIdx.x; i < slice.end; i += kThreads) {
      sum += to_float(from[i]) * to_float(from[i]);
    }
    return sum;
  }
  for (int round = 0; round < kSlice; round += kRound) {
    const T* first = from + slice.begin + round + threadIdx.x * kValues;
    Pack<T, kValues> packs[kAtOnce];
#pragma unroll
    for (int n = 0; n < kAtOnce; ++n) {
      packs[n] = load_pack<T, kValues>(first + n * kThreads * kValues);
    }
#pragma unroll
    for (int n = 0; n < kAtOnce; ++n) {
      float x[kValues];
      unpack(packs[n], x);
#pragma unroll
      for (int v = 0; v < kValues; ++v) sum += x[v] * x[v];
    }
  }
  return sum;
}

// Σ g² of a slice and, where updates are scaled by the RMS, Σ p².
__global__ void __launch_bounds__(kThreads)
    sums_kernel(const __grid_constant__ Tensors all, bool scale_by_rms, Sums* sums) {
  const Slice slice = slice_of(all, blockIdx.x);
  const AdamWTensor& t = all.tensor[slice.tensor];
  const bool packed = is_packed(t);
  const double gradient = block_sum<kThreads, double>(
      t.gradient_type == Type::Bf16
          ? squares(static_cast<const bf16*>(t.gradient), slice, packed)
          : squares(static_cast<const float*>(t.gradient), slice, packed));
  const double parameter =
      scale_by_rms ? block_sum<kThreads, double>(squares(t.parameter, slice, packed)) : 0;
  if (threadIdx.x == 0) sums[all.blocks_before + blockIdx.x] = {gradient, parameter};
}

// One block: the norm of all gradients, and from it the clip factor.
__global__ void __launch_bounds__(kThreads)
    decide_kernel(const Sums* sums, int blocks, double max_norm, const double* loss, double* norm,
                  Decision* decision) {
  double squares = 0;
#pragma unroll 8
  for (int i = threadIdx.x; i < blocks; i += kThreads) squares += sums[i].gradient;
  const double global_norm = sqrt(block_sum<kThreads>(squares));
  if (threadIdx.x > 0) return;
  *norm = global_norm;
  const bool updates = isfinite(global_norm) && isfinite(*loss);
  decision->clip = !updates                 ? 0.f
                   : global_norm > max_norm ? static_cast<float>(max_norm / global_norm)
                                            : 1.f;
}

// One block per tensor: its scale, max(1e-3, RMS).
__global__ void __launch_bounds__(kThreads)
    scales_kernel(const __grid_constant__ Tensors all, const Sums* sums, float* scales) {
  const int begin = all.first_block[blockIdx.x], end = all.first_block[blockIdx.x + 1];
  double squares = 0;
  for (int i = begin + threadIdx.x; i < end; i += kThreads) {
    squares += sums[all.blocks_before + i].parameter;
  }
  squares = block_sum<kThreads>(squares);
  if (threadIdx.x == 0) {
    const double mean = squares / static_cast<double>(all.tensor[blockIdx.x].size);
    scales[all.first_tensor + blockIdx.x] = fmaxf(static_cast<float>(sqrt(mean)), 1e-3f);
  }
}

// The constants of one tensor's update in this step.
struct Coefficients {
  float clip, beta1, beta2, eps, decay_factor, step_size, inv_sqrt_correction2;
};

__device__ Coefficients coefficients_of(const AdamWOptions& options, const AdamWStep& step,
                                        float clip, float scale, bool decays) {
  const double decay = decays ? step.learning_rate * options.weight_decay : 0;
  return {clip,
          static_cast<float>(options.beta1),
          static_cast<float>(options.beta2),
          static_cast<float>(options.eps),
          static_cast<float>(1 - decay),
          static_cast<float>(step.learning_rate * scale / step.bias_correction1),
          static_cast<float>(rsqrt(step.bias_correction2))};
}

__device__ void update(const Coefficients& k, float gradient, float& p, float& m, float& v) {
  const float g = gradient * k.clip;
  m += (1 - k.beta1) * (g - m);
  v = k.beta2 * v + (1 - k.beta2) * g * g;
  p = p * k.decay_factor - k.step_size * m / (sqrtf(v) * k.inv_sqrt_correction2 + k.eps);
}

__global__ void __launch_bounds__(kThreads)
    adamw_kernel(const __grid_constant__ Tensors all, AdamWOptions options, const AdamWStep* step,
                 const Decision* decision, const float* scales) {
  const float clip = decision->clip;
  if (clip == 0) return;
  const Slice slice = slice_of(all, blockIdx.x);
  const AdamWTensor& t = all.tensor[slice.tensor];
  const float scale = options.scale_by_rms ? scales[all.first_tensor + slice.tensor] : 1.f;
  const Coefficients k = coefficients_of(options, *step, clip, scale, t.decays);
  const bool packed = is_packed(t);
#pragma unroll 2
  for (int64_t i = slice.begin + threadIdx.x * kPack; i < slice.end; i += kThreads * kPack) {
    float g[kPack], p[kPack], m[kPack], v[kPack];
    load_gradient(t, i, slice.end, packed, g);
    load_up_to(t.parameter, i, slice.end, packed, p);
    load_up_to(t.exp_avg, i, slice.end, packed, m);
    load_up_to(t.exp_avg_sq, i, slice.end, packed, v);
#pragma unroll
    for (int each = 0; each < kPack; ++each) update(k, g[each], p[each], m[each], v[each]);
    store_up_to(t.parameter, i, slice.end, packed, p);
    store_up_to(t.exp_avg, i, slice.end, packed, m);
    store_up_to(t.exp_avg_sq, i, slice.end, packed, v);
    if (t.copy != nullptr) store_up_to(static_cast<bf16*>(t.copy), i, slice.end, packed, p);
  }
}

int blocks_of(const AdamWTensor& tensor) {
  return static_cast<int>(ceil_div<int64_t>(tensor.size, kSlice));
}

// All tensors, in as many launches as their addresses need. Empty ones are left out.
std::vector<Tensors> launches_of(const AdamWTensor* tensors, int64_t count) {
  std::vector<Tensors> launches;
  int first_tensor = 0, blocks_before = 0;
  for (int64_t i = 0; i < count; ++i) {
    if (tensors[i].size == 0) continue;
    if (launches.empty() || launches.back().count == kMaxTensors) {
      launches.push_back({});
      launches.back().first_tensor = first_tensor;
      launches.back().blocks_before = blocks_before;
    }
    Tensors& last = launches.back();
    last.tensor[last.count] = tensors[i];
    last.first_block[last.count + 1] = last.first_block[last.count] + blocks_of(tensors[i]);
    ++last.count;
    ++first_tensor;
    blocks_before += blocks_of(tensors[i]);
  }
  return launches;
}

// The layout of the workspace.
struct Workspace {
  Decision* decision;
  Sums* sums;
  float* scales;
  size_t bytes;

  Workspace(void* begin, int64_t tensors, int64_t blocks) {
    char* at = static_cast<char*>(begin);
    decision = reinterpret_cast<Decision*>(at);
    at += 256;
    sums = reinterpret_cast<Sums*>(at);
    at += blocks * sizeof(Sums);
    scales = reinterpret_cast<float*>(at);
    at += tensors * sizeof(float);
    bytes = static_cast<size_t>(at - static_cast<char*>(begin));
  }
};

int64_t all_blocks(const AdamWTensor* tensors, int64_t count) {
  int64_t blocks = 0;
  for (int64_t i = 0; i < count; ++i) blocks += blocks_of(tensors[i]);
  return blocks;
}

}  // namespace

void adamw_cuda(const AdamWOptions& options, const AdamWArrays& arrays, Stream on) {
  const auto stream = static_cast<cudaStream_t>(on);
  const auto blocks = checked_grid(all_blocks(arrays.tensors, arrays.count), "adamw");
  const Workspace work(arrays.workspace, arrays.count, blocks);
  const auto launches = launches_of(arrays.tensors, arrays.count);
  for (const Tensors& each : launches) {
    sums_kernel<<<each.first_block[each.count], kThreads, 0, stream>>>(each, options.scale_by_rms,
                                                                       work.sums);
    if (!options.scale_by_rms) continue;
    scales_kernel<<<each.count, kThreads, 0, stream>>>(each, work.sums, work.scales);
  }
  decide_kernel<<<1, kThreads, 0, stream>>>(work.sums, static_cast<int>(blocks), options.max_norm,
                                            arrays.loss, arrays.norm, work.decision);
  for (const Tensors& each : launches) {
    adamw_kernel<<<each.first_block[each.count], kThreads, 0, stream>>>(each, options, arrays.step,
                                                                        work.decision, work.scales);
  }
  check_launch("adamw");
}

size_t adamw_workspace_cuda(const AdamWTensor* tensors, int64_t count) {
  return Workspace(nullptr, count, all_blocks(tensors, count)).bytes;
}

}  // namespace convseq::kernels
