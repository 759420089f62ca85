#pragma once

#include "convseq/kernels/cuda/common.cuh"

// Tensor-core instructions for bf16 operands with fp32 accumulators: mma (16 × 16 by 16 × 8, one
// warp) and on Hopper wgmma (64 × 16 by 16 × 64, a warpgroup of four warps).
namespace convseq::kernels {

__device__ inline unsigned pack_pair(float low, float high) {
  const __nv_bfloat162 pair = __floats2bfloat162_rn(low, high);
  return *reinterpret_cast<const unsigned*>(&pair);
}

__device__ inline float2 unpack_pair(unsigned pair) {
  return {__uint_as_float(pair << 16), __uint_as_float(pair & 0xffff0000u)};
}

// ldmatrix: four 8 × 8 matrices from shared memory; lane l passes the address of row l mod 8 of
// matrix l / 8.
__device__ inline void ldmatrix_x4(unsigned (&to)[4], const bf16* row) {
  const auto address = static_cast<unsigned>(__cvta_generic_to_shared(row));
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(address)
               : "memory");
}

// The same, each matrix transposed.
__device__ inline void ldmatrix_x4_transposed(unsigned (&to)[4], const bf16* row) {
  const auto address = static_cast<unsigned>(__cvta_generic_to_shared(row));
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(address)
               : "memory");
}

// stmatrix: the inverse of ldmatrix_x4().
__device__ inline void stmatrix_x4(bf16* row, const unsigned (&from)[4]) {
  const auto address = static_cast<unsigned>(__cvta_generic_to_shared(row));
#if __CUDA_ARCH__ >= 900
  asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(address),
               "r"(from[0]), "r"(from[1]), "r"(from[2]), "r"(from[3])
               : "memory");
#else
  const unsigned lane = threadIdx.x % kLanes;
#pragma unroll
  for (int matrix = 0; matrix < 4; ++matrix) {
    const unsigned of_row = __shfl_sync(kAllLanes, address, matrix * 8 + lane / 4);
    asm volatile("st.shared.b32 [%0], %1;" ::"r"(of_row + lane % 4 * 4), "r"(from[matrix])
                 : "memory");
  }
#endif
}

// The same, each matrix transposed: the inverse of ldmatrix_x4_transposed().
__device__ inline void stmatrix_x4_transposed(bf16* row, const unsigned (&from)[4]) {
  const auto address = static_cast<unsigned>(__cvta_generic_to_shared(row));
#if __CUDA_ARCH__ >= 900
  asm volatile(
      "stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(address),
      "r"(from[0]), "r"(from[1]), "r"(from[2]), "r"(from[3])
      : "memory");
#else
  const unsigned lane = threadIdx.x % kLanes;
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    const unsigned of_row = __shfl_sync(kAllLanes, address, i / 2 * 8 + lane % 4 * 2 + i % 2);
    const auto value = static_cast<unsigned short>(from[i / 2] >> (i % 2 * 16));
    asm volatile("st.shared.b16 [%0], %1;" ::"r"(of_row + lane / 4 * 2), "h"(value) : "memory");
  }
#endif
}

// sums += a · b. Lane l holds rows l/4 and l/4 + 8, columns 2 (l mod 4) and the next, of the sums.
__device__ inline void mma_m16n8k16(float (&sums)[4], const unsigned (&a)[4], unsigned b0,
                                    unsigned b1) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
      "{%8, %9}, {%0, %1, %2, %3};"
      : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

// Two accumulators side by side, rounded, in the layout of a left operand.
__device__ inline void pack_sums(const float (&sums)[2][4], unsigned (&values)[4]) {
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    values[i] = pack_pair(sums[i / 2][i % 2 * 2], sums[i / 2][i % 2 * 2 + 1]);
  }
}

// Over the quad of lanes that holds one row of the accumulators.
__device__ inline float quad_sum(float x) {
  x += __shfl_xor_sync(kAllLanes, x, 1);
  return x + __shfl_xor_sync(kAllLanes, x, 2);
}

__device__ inline float quad_max(float x) {
  x = fmaxf(x, __shfl_xor_sync(kAllLanes, x, 1));
  return fmaxf(x, __shfl_xor_sync(kAllLanes, x, 2));
}

#ifdef __CUDA_ARCH_FEAT_SM90_ALL

// wgmma of 64 rows (16 per warp) with a tile in shared memory: 64 rows of 64 bf16 values, aligned
// to 1,024 bytes, with 128-byte swizzle (attention_tile.cuh).

// The address of a tile in shared memory, in units of 16 bytes. The empty asm stops the compiler
// from hoisting it and its offsets out of loops, where each would occupy a register.
__device__ inline unsigned shared_address(const bf16* tile) {
  unsigned start = static_cast<unsigned>(__cvta_generic_to_shared(tile)) >> 4;
  asm volatile("" : "+r"(start));
  return start;
}

// The matrix descriptor of a tile, or of a position in it: start address, leading byte offset
// (unused with this swizzle), stride of eight rows, swizzle mode.
__device__ inline uint64_t wgmma_descriptor(unsigned start) {
  constexpr uint64_t kEightRows = 1024 >> 4, kSwizzle128 = 1;
  return (start + (1u << 16)) | kEightRows << 32 | kSwizzle128 << 62;
}

// One wgmma into 64 × 64 accumulators, asm operands 0 to 31: added to them unless `adds` is 0. The
// operands a and b and their flags follow in `factors`.
#define CONVSEQ_WGMMA_M64N64K16(adds, factors, ...)                                                \
  asm volatile(                                                                                    \
      "{.reg .pred add; setp.ne.b32 add, " adds                                                    \
      ", 0;"                                                                                       \
      "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 {"                                     \
      "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, " \
      "%20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, " factors ";}"                 \
      : "+f"(sums[0][0]), "+f"(sums[0][1]), "+f"(sums[0][2]), "+f"(sums[0][3]), "+f"(sums[1][0]),  \
        "+f"(sums[1][1]), "+f"(sums[1][2]), "+f"(sums[1][3]), "+f"(sums[2][0]), "+f"(sums[2][1]),  \
        "+f"(sums[2][2]), "+f"(sums[2][3]), "+f"(sums[3][0]), "+f"(sums[3][1]), "+f"(sums[3][2]),  \
        "+f"(sums[3][3]), "+f"(sums[4][0]), "+f"(sums[4][1]), "+f"(sums[4][2]), "+f"(sums[4][3]),  \
        "+f"(sums[5][0]), "+f"(sums[5][1]), "+f"(sums[5][2]), "+f"(sums[5][3]), "+f"(sums[6][0]),  \
        "+f"(sums[6][1]), "+f"(sums[6][2]), "+f"(sums[6][3]), "+f"(sums[7][0]), "+f"(sums[7][1]),  \
        "+f"(sums[7][2]), "+f"(sums[7][3])                                                         \
      : __VA_ARGS__)

// sums += a · b with 16 columns of a and 16 rows of b, asynchronously: done when wgmma_wait()
// returns.
__device__ inline void wgmma_m64n64k16(float (&sums)[8][4], const unsigned (&a)[4], uint64_t b) {
  CONVSEQ_WGMMA_M64N64K16("1", "{%32, %33, %34, %35}, %36, add, 1, 1, 1", "r"(a[0]), "r"(a[1]),
                          "r"(a[2]), "r"(a[3]), "l"(b));
}

// sums (+)= a · bᵀ with 16 columns of each, both in shared memory.
__device__ inline void wgmma_m64n64k16(float (&sums)[8][4], uint64_t a, uint64_t b, bool add) {
  CONVSEQ_WGMMA_M64N64K16("%34", "%32, %33, add, 1, 1, 0, 0", "l"(a), "l"(b),
                          "r"(static_cast<int>(add)));
}

// sums (+)= aᵀ · b with 16 rows of each, both in shared memory.
__device__ inline void wgmma_m64n64k16_tn(float (&sums)[8][4], uint64_t a, uint64_t b, bool add) {
  CONVSEQ_WGMMA_M64N64K16("%34", "%32, %33, add, 1, 1, 1, 1", "l"(a), "l"(b),
                          "r"(static_cast<int>(add)));
}

#undef CONVSEQ_WGMMA_M64N64K16

__device__ inline void wgmma_fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }

__device__ inline void wgmma_commit() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}

__device__ inline void wgmma_wait() {
  asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
}

// Stops the compiler from moving accesses of the accumulators across this point.
__device__ inline void keep_in_registers(float (&sums)[8][4]) {
#pragma unroll
  for (auto& part : sums) {
#pragma unroll
    for (float& sum : part) asm volatile("" : "+f"(sum)::"memory");
  }
}

#endif

}  // namespace convseq::kernels
