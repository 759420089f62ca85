#pragma once

#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <cstdint>
#include <type_traits>

#include "convseq/kernels/checks.h"

// What the CUDA kernels share: loads and stores of either type, reductions, launches.
namespace convseq::kernels {

using bf16 = __nv_bfloat16;

constexpr int kLanes = 32;
constexpr unsigned kAllLanes = 0xffffffffu;

template <class T>
__host__ __device__ constexpr T ceil_div(T a, T b) {
  return (a + b - 1) / b;
}

// N neighbouring values, loaded and stored by one vectorised instruction.
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

// For a very negative x, exp(−x) overflows to infinity and the quotient is 0, as it should be. The
// approximations are accurate to 2 ulp of fp32. Subnormal values that they flush to zero are added
// to 1, or are sigmoids below 1e-37.
__device__ inline float sigmoid(float x) {
  float power, quotient;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"(x * -1.44269504f));
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(quotient) : "f"(1.f + power));
  return quotient;
}

// Copies 8 or 16 bytes from global to shared memory asynchronously; zeros where not `real`,
// whatever `from` points to.
template <int kBytes>
__device__ void cp_async(void* to, const void* from, bool real) {
  const auto address = static_cast<unsigned>(__cvta_generic_to_shared(to));
  if constexpr (kBytes == 16) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(address), "l"(from),
                 "r"(real ? 16 : 0)
                 : "memory");
  } else {
    static_assert(kBytes == 8);
    asm volatile("cp.async.ca.shared.global [%0], [%1], 8, %2;" ::"r"(address), "l"(from),
                 "r"(real ? 8 : 0)
                 : "memory");
  }
}

__device__ inline void cp_async_16(void* to, const void* from, bool real) {
  cp_async<16>(to, from, real);
}

__device__ inline void cp_async_commit_group() {
  asm volatile("cp.async.commit_group;" ::: "memory");
}

template <int kLeft>
__device__ void cp_async_wait_group() {
  asm volatile("cp.async.wait_group %0;" ::"n"(kLeft) : "memory");
}

__device__ inline void cp_async_wait_all() { asm volatile("cp.async.wait_all;" ::: "memory"); }

template <int kCount = kLanes, class T>  // over groups of kCount neighbouring lanes
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

// The sum over a block of kCount threads, for every thread: warps first, then in their order.
template <int kCount, class T>
__device__ T block_sum(T x) {
  __shared__ T of_warps[kCount / kLanes];
  x = warp_sum(x);
  __syncthreads();  // the previous sum has been read
  if (threadIdx.x % kLanes == 0) of_warps[threadIdx.x / kLanes] = x;
  __syncthreads();
  T sum = 0;
  for (int warp = 0; warp < kCount / kLanes; ++warp) sum += of_warps[warp];
  return sum;
}

// The number of positions of a row that are not padding.
__device__ inline int real_length(const int64_t* lengths, int row, int time) {
  if (lengths == nullptr) return time;
  const int64_t length = lengths[row];
  return length < 0 ? 0 : length < time ? static_cast<int>(length) : time;
}

inline void check_cuda(cudaError_t status, const char* what) {
  if (status != cudaSuccess) fail_cuda(what, cudaGetErrorString(status));
}

inline int device_attribute(cudaDeviceAttr which) {  // of the current device
  int device = 0, value = 0;
  check_cuda(cudaGetDevice(&device), "device");
  check_cuda(cudaDeviceGetAttribute(&value, which, device), "device");
  return value;
}

// A kernel started by launch_dependent() calls this before it accesses global memory: it waits
// until the kernels before it have finished, then allows the next kernel's blocks to be scheduled.
__device__ inline void grid_dependency_wait() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

// kernel<<<…>>>(…) by programmatic dependent launch: its blocks may be scheduled before the
// previous kernel has finished, which hides the launch latency. Every thread calls
// grid_dependency_wait() first.
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
#ifdef CONVSEQ_DEPENDENT_LAUNCH  // the lowest compute capability whose code waits
  config.numAttrs =
      device_attribute(cudaDevAttrComputeCapabilityMajor) >= CONVSEQ_DEPENDENT_LAUNCH ? 1 : 0;
#endif
  check_cuda(cudaLaunchKernelEx(&config, kernel, arguments...), "launch");
}

inline void check_launch(const char* what) { check_cuda(cudaGetLastError(), what); }

// Raises the limit of dynamic shared memory where a block needs more than the default of 48 KiB.
template <class Kernel>
void allow_shared_memory(Kernel kernel, size_t bytes) {
  if (bytes <= 48 * 1024) return;
  check_cuda(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                  static_cast<int>(bytes)),
             "shared memory");
}

// Rows of time per block: `most`, halved down to `least` while there are too few blocks to fill the
// GPU.
inline int rows_per_block(const ConvShape& shape, int64_t strips, int most, int least) {
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
