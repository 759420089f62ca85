#include <algorithm>
#include <vector>

#include "convseq/kernels/adamw.h"
#include "convseq/kernels/cuda/common.cuh"

namespace convseq::kernels {
namespace {

constexpr int kThreads = 256;
constexpr int kPack = 4;
constexpr int64_t kSlice = int64_t{kThreads} * kPack * 16;  // elements of a tensor a block takes
constexpr int kMostTensors = 384;  // of a launch: their addresses travel as its argument

struct Tensors {
  AdamWTensor tensor[kMostTensors];
  int first_block[kMostTensors + 1];  // of each tensor; the last is the number of blocks
  int count;
  int first_tensor;  // how many stand in the launches before, and their blocks
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

struct Outcome {
  float clip;  // times each gradient; 0: nothing moves
};

struct Sums {
  double gradient, value;  // of squares
};

// Four neighbours at `i`, or as many as there are before `end`.
template <class T>
__device__ void load_some(const T* from, int64_t i, int64_t end, bool packed,
                          float (&values)[kPack]) {
  if (packed && i + kPack <= end) return load_values(from + i, values);
#pragma unroll
  for (int v = 0; v < kPack; ++v) values[v] = i + v < end ? to_float(from[i + v]) : 0.f;
}

template <class T>
__device__ void store_some(T* to, int64_t i, int64_t end, bool packed,
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
  return is_aligned_16(t.value) && is_aligned_16(t.gradient) && is_aligned_16(t.mean) &&
         is_aligned_16(t.square) && is_aligned_16(t.copy);
}

__device__ void load_gradient(const AdamWTensor& t, int64_t i, int64_t end, bool packed,
                              float (&g)[kPack]) {
  if (t.gradient_type == Type::Bf16) {
    load_some(static_cast<const bf16*>(t.gradient), i, end, packed, g);
  } else {
    load_some(static_cast<const float*>(t.gradient), i, end, packed, g);
  }
}

// Σ x² of a thread's share of a slice; of a whole slice many packs are on their way at once.
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

// The squares of a slice's gradients and, where steps go by size, of its values.
__global__ void __launch_bounds__(kThreads)
    sums_kernel(const __grid_constant__ Tensors all, bool by_size, Sums* sums) {
  const Slice slice = slice_of(all, blockIdx.x);
  const AdamWTensor& t = all.tensor[slice.tensor];
  const bool packed = is_packed(t);
  const double gradient = block_sum<kThreads, double>(
      t.gradient_type == Type::Bf16
          ? squares(static_cast<const bf16*>(t.gradient), slice, packed)
          : squares(static_cast<const float*>(t.gradient), slice, packed));
  const double value = by_size ? block_sum<kThreads, double>(squares(t.value, slice, packed)) : 0;
  if (threadIdx.x == 0) sums[all.blocks_before + blockIdx.x] = {gradient, value};
}

// One block: the norm of all gradients decides.
__global__ void __launch_bounds__(kThreads)
    decide_kernel(const Sums* sums, int blocks, double max_norm, const double* loss, double* norm,
                  Outcome* outcome) {
  double squares = 0;
#pragma unroll 8
  for (int i = threadIdx.x; i < blocks; i += kThreads) squares += sums[i].gradient;
  const double found = sqrt(block_sum<kThreads>(squares));
  if (threadIdx.x > 0) return;
  *norm = found;
  const bool moves = isfinite(found) && isfinite(*loss);
  outcome->clip = !moves ? 0.f : found > max_norm ? static_cast<float>(max_norm / found) : 1.f;
}

// A block a tensor: its size, max(1e-3, RMS).
__global__ void __launch_bounds__(kThreads)
    sizes_kernel(const __grid_constant__ Tensors all, const Sums* sums, float* sizes) {
  const int begin = all.first_block[blockIdx.x], end = all.first_block[blockIdx.x + 1];
  double squares = 0;
  for (int i = begin + threadIdx.x; i < end; i += kThreads) {
    squares += sums[all.blocks_before + i].value;
  }
  squares = block_sum<kThreads>(squares);
  if (threadIdx.x == 0) {
    const double mean = squares / static_cast<double>(all.tensor[blockIdx.x].size);
    sizes[all.first_tensor + blockIdx.x] = fmaxf(static_cast<float>(sqrt(mean)), 1e-3f);
  }
}

// A tensor's numbers of this step.
struct Rule {
  float clip, beta1, beta2, eps, keep, step, root_share;
};

__device__ Rule rule_of(const AdamWOptions& options, const AdamWStep& step, float clip, float size,
                        bool decays) {
  const double decay = decays ? step.learning_rate * options.weight_decay : 0;
  return {clip,
          static_cast<float>(options.beta1),
          static_cast<float>(options.beta2),
          static_cast<float>(options.eps),
          static_cast<float>(1 - decay),
          static_cast<float>(step.learning_rate * size / step.mean_share),
          static_cast<float>(rsqrt(step.square_share))};
}

__device__ void move(const Rule& rule, float gradient, float& p, float& m, float& v) {
  const float g = gradient * rule.clip;
  m += (1 - rule.beta1) * (g - m);
  v = rule.beta2 * v + (1 - rule.beta2) * g * g;
  p = p * rule.keep - rule.step * m / (sqrtf(v) * rule.root_share + rule.eps);
}

__global__ void __launch_bounds__(kThreads)
    adamw_kernel(const __grid_constant__ Tensors all, AdamWOptions options, const AdamWStep* step,
                 const Outcome* outcome, const float* sizes) {
  const float clip = outcome->clip;
  if (clip == 0) return;
  const Slice slice = slice_of(all, blockIdx.x);
  const AdamWTensor& t = all.tensor[slice.tensor];
  const float size = options.by_size ? sizes[all.first_tensor + slice.tensor] : 1.f;
  const Rule rule = rule_of(options, *step, clip, size, t.decays);
  const bool packed = is_packed(t);
#pragma unroll 2
  for (int64_t i = slice.begin + threadIdx.x * kPack; i < slice.end; i += kThreads * kPack) {
    float g[kPack], p[kPack], m[kPack], v[kPack];
    load_gradient(t, i, slice.end, packed, g);
    load_some(t.value, i, slice.end, packed, p);
    load_some(t.mean, i, slice.end, packed, m);
    load_some(t.square, i, slice.end, packed, v);
#pragma unroll
    for (int each = 0; each < kPack; ++each) move(rule, g[each], p[each], m[each], v[each]);
    store_some(t.value, i, slice.end, packed, p);
    store_some(t.mean, i, slice.end, packed, m);
    store_some(t.square, i, slice.end, packed, v);
    if (t.copy != nullptr) store_some(static_cast<bf16*>(t.copy), i, slice.end, packed, p);
  }
}

int blocks_of(const AdamWTensor& tensor) {
  return static_cast<int>(ceil_div<int64_t>(tensor.size, kSlice));
}

// All tensors, as many a launch as an argument holds; empty ones have no blocks and are left out.
std::vector<Tensors> launches_of(const AdamWTensor* tensors, int64_t count) {
  std::vector<Tensors> launches;
  int first_tensor = 0, blocks_before = 0;
  for (int64_t i = 0; i < count; ++i) {
    if (tensors[i].size == 0) continue;
    if (launches.empty() || launches.back().count == kMostTensors) {
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

// Where things stand in the workspace.
struct Workspace {
  Outcome* outcome;
  Sums* sums;
  float* sizes;
  size_t bytes;

  Workspace(void* begin, int64_t tensors, int64_t blocks) {
    char* at = static_cast<char*>(begin);
    outcome = reinterpret_cast<Outcome*>(at);
    at += 256;
    sums = reinterpret_cast<Sums*>(at);
    at += blocks * sizeof(Sums);
    sizes = reinterpret_cast<float*>(at);
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
  const auto blocks = grid_of(all_blocks(arrays.tensors, arrays.count), "adamw");
  const Workspace work(arrays.workspace, arrays.count, blocks);
  const auto launches = launches_of(arrays.tensors, arrays.count);
  for (const Tensors& each : launches) {
    sums_kernel<<<each.first_block[each.count], kThreads, 0, stream>>>(each, options.by_size,
                                                                       work.sums);
    if (!options.by_size) continue;
    sizes_kernel<<<each.count, kThreads, 0, stream>>>(each, work.sums, work.sizes);
  }
  decide_kernel<<<1, kThreads, 0, stream>>>(work.sums, static_cast<int>(blocks), options.max_norm,
                                            arrays.loss, arrays.norm, work.outcome);
  for (const Tensors& each : launches) {
    adamw_kernel<<<each.first_block[each.count], kThreads, 0, stream>>>(each, options, arrays.step,
                                                                        work.outcome, work.sizes);
  }
  check_launch("adamw");
}

size_t adamw_workspace_cuda(const AdamWTensor* tensors, int64_t count) {
  return Workspace(nullptr, count, all_blocks(tensors, count)).bytes;
}

}  // namespace convseq::kernels
