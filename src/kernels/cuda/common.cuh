#pragma once

#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <cstdint>
#include <type_traits>

#include "convseq/kernels/checks.h"

// What the CUDA kernels share: numbers of either type in and out, launches.
namespace convseq::kernels {

using bf16 = __nv_bfloat16;

constexpr int kLanes = 32;
constexpr unsigned kAllLanes = 0xffffffffu;

template <class T>
__host__ __device__ constexpr T ceil_div(T a, T b) {
  return (a + b - 1) / b;
}

// N neighbours that are loaded and stored at once.
template <class T, int N>
struct alignas(sizeof(T) * N) Pack {
  T values[N];
};

__device__ inline float to_float(float x) { return x; }
__device__ inline float to_float(bf16 x) { return __bfloat162float(x); }

template <class T>
__device__ T from_float(float x) {
  if constexpr (std::is_same_v<T, bf16>) {
    return __float2bfloat16_rn(x);
  } else {
    return x;
  }
}

template <class T, int N>
__device__ Pack<T, N> load_pack(const T* from) {
  return *reinterpret_cast<const Pack<T, N>*>(from);
}

template <class T, int N>
__device__ void unpack(const Pack<T, N>& pack, float (&values)[N]) {
#pragma unroll
  for (int i = 0; i < N; ++i) values[i] = to_float(pack.values[i]);
}

template <class T, int N>
__device__ void load_values(const T* from, float (&values)[N]) {
  unpack(load_pack<T, N>(from), values);
}

template <class T, int N>
__device__ Pack<T, N> pack_values(const float (&values)[N]) {
  Pack<T, N> pack;
#pragma unroll
  for (int i = 0; i < N; ++i) pack.values[i] = from_float<T>(values[i]);
  return pack;
}

template <class T, int N>
__device__ void store_values(T* to, const float (&values)[N]) {
  *reinterpret_cast<Pack<T, N>*>(to) = pack_values<T, N>(values);
}

// exp(−x) overflows to infinity for a very negative x, and the quotient is then 0, as it should.
// The approximations are good to 2 units in the last place of fp32; what they would flush to zero
// is added to 1, or is a sigmoid below 1e-37.
__device__ inline float sigmoid(float x) {
  float power, quotient;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"(x * -1.44269504f));
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(quotient) : "f"(1.f + power));
  return quotient;
}

// Sixteen bytes from global to shared memory, past the registers; zeros where not `real`, whatever
// `from` holds.
__device__ inline void copy_16_async(void* to, const void* from, bool real) {
  const auto address = static_cast<unsigned>(__cvta_generic_to_shared(to));
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(address), "l"(from),
               "r"(real ? 16 : 0)
               : "memory");
}

__device__ inline void wait_for_copies() { asm volatile("cp.async.wait_all;" ::: "memory"); }

template <int kCount = kLanes, class T>  // of so many neighbours
__device__ T warp_sum(T x) {
#pragma unroll
  for (int step = kCount / 2; step > 0; step /= 2) x += __shfl_xor_sync(kAllLanes, x, step);
  return x;
}

__device__ inline float warp_max(float x) {
#pragma unroll
  for (int step = kLanes / 2; step > 0; step /= 2) {
    x = fmaxf(x, __shfl_xor_sync(kAllLanes, x, step));
  }
  return x;
}

// To every thread of a block of kCount: each warp's sum, then those in the order of the warps.
template <int kCount, class T>
__device__ T block_sum(T x) {
  __shared__ T of_warps[kCount / kLanes];
  x = warp_sum(x);
  __syncthreads();  // the last sum has been read
  if (threadIdx.x % kLanes == 0) of_warps[threadIdx.x / kLanes] = x;
  __syncthreads();
  T sum = 0;
  for (int warp = 0; warp < kCount / kLanes; ++warp) sum += of_warps[warp];
  return sum;
}

// How many of a row's positions are real.
__device__ inline int real_length(const int64_t* lengths, int row, int time) {
  if (lengths == nullptr) return time;
  const int64_t length = lengths[row];
  return length < 0 ? 0 : length < time ? static_cast<int>(length) : time;
}

inline void check_cuda(cudaError_t status, const char* what) {
  if (status != cudaSuccess) fail_cuda(what, cudaGetErrorString(status));
}

inline int device_number(cudaDeviceAttr which) {  // of the current device
  int device = 0, value = 0;
  check_cuda(cudaGetDevice(&device), "device");
  check_cuda(cudaDeviceGetAttribute(&value, which, device), "device");
  return value;
}

// What a kernel of launch_dependent() does before it looks at global memory: waits for the end of
// the work before it, then lets the blocks of the next come as its own leave room.
__device__ inline void wait_for_work_before() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

// kernel<<<…>>>(…), whose blocks may stand ready before the work before it has ended: what a launch
// takes is hidden. Every thread that goes on calls wait_for_work_before() first.
template <class... Parameters>
void launch_dependent(void (*kernel)(Parameters...), dim3 blocks, int threads, size_t shared_bytes,
                      cudaStream_t stream, std::type_identity_t<Parameters>... arguments) {
  cudaLaunchAttribute dependent{};
  dependent.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  dependent.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = blocks;
  config.blockDim = dim3(threads);
  config.dynamicSmemBytes = shared_bytes;
  config.stream = stream;
  config.attrs = &dependent;
#ifdef CONVSEQ_DEPENDENT_LAUNCH  // code that waits was compiled, for GPUs from this one on
  config.numAttrs =
      device_number(cudaDevAttrComputeCapabilityMajor) >= CONVSEQ_DEPENDENT_LAUNCH ? 1 : 0;
#endif
  check_cuda(cudaLaunchKernelEx(&config, kernel, arguments...), "launch");
}

inline void check_launch(const char* what) { check_cuda(cudaGetLastError(), what); }

// More shared memory than a block gets unasked.
template <class Kernel>
void allow_shared_memory(Kernel kernel, size_t bytes) {
  if (bytes <= 48 * 1024) return;
  check_cuda(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                  static_cast<int>(bytes)),
             "shared memory");
}

// Rows of time a block takes: `most`, or fewer where blocks would be too few to fill the GPU,
// halving down to `least`.
inline int rows_of_block(const ConvShape& shape, int64_t strips, int most, int least) {
  constexpr int64_t kEnoughBlocks = 512;
  const auto blocks = [&](int rows) {
    return shape.batch * strips * ceil_div<int64_t>(shape.time, rows);
  };
  while (most > least && blocks(most) < kEnoughBlocks) most /= 2;
  return most;
}

inline bool is_aligned(const void* pointer) {
  return reinterpret_cast<uintptr_t>(pointer) % 16 == 0;
}

inline bool is_empty(const ConvShape& shape) {
  return shape.batch == 0 || shape.time == 0 || shape.channels == 0;
}

// Calls use(T{}) with the C++ type of the activations.
template <class Use>
auto with_type(Type type, Use use) {
  return type == Type::Bf16 ? use(bf16{}) : use(float{});
}

template <class Use>
auto with_bool(bool value, Use use) {
  return value ? use(std::true_type{}) : use(std::false_type{});
}

}  // namespace convseq::kernels
