#pragma once

#include "convseq/kernels/cuda/common.cuh"

// Matmuls of bf16 values on the tensor cores, sums in fp32: 16 × 16 by 16 × 8 by one warp, or on
// Hopper 64 × 16 by 16 × 64 by four.
namespace convseq::kernels {

__device__ inline unsigned pack_pair(float low, float high) {
  const __nv_bfloat162 pair = __floats2bfloat162_rn(low, high);
  return *reinterpret_cast<const unsigned*>(&pair);
}

__device__ inline float2 unpack_pair(unsigned pair) {
  return {__uint_as_float(pair << 16), __uint_as_float(pair & 0xffff0000u)};
}

// Four 8 × 8 matrices from shared memory; lane l gives the address of row l mod 8 of matrix l / 8.
__device__ inline void load_matrices(unsigned (&to)[4], const bf16* row) {
  const auto address = static_cast<unsigned>(__cvta_generic_to_shared(row));
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(address)
               : "memory");
}

// The same, each matrix transposed.
__device__ inline void load_matrices_transposed(unsigned (&to)[4], const bf16* row) {
  const auto address = static_cast<unsigned>(__cvta_generic_to_shared(row));
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(address)
               : "memory");
}

// The way back: from registers as load_matrices() fills them.
__device__ inline void store_matrices(bf16* row, const unsigned (&from)[4]) {
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

// sums += a · b. Lane l holds of the sums rows l/4 and l/4 + 8, columns 2 (l mod 4) and the next.
__device__ inline void multiply_add(float (&sums)[4], const unsigned (&a)[4], unsigned b0,
                                    unsigned b1) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
      "{%8, %9}, {%0, %1, %2, %3};"
      : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

// Over the four lanes that have a row of the sums.
__device__ inline float row_sum(float x) {
  x += __shfl_xor_sync(kAllLanes, x, 1);
  return x + __shfl_xor_sync(kAllLanes, x, 2);
}

__device__ inline float row_max(float x) {
  x = fmaxf(x, __shfl_xor_sync(kAllLanes, x, 1));
  return fmaxf(x, __shfl_xor_sync(kAllLanes, x, 2));
}

#ifdef __CUDA_ARCH_FEAT_SM90_ALL

// Matmuls of 64 rows, 16 of each of four warps, by a tile in shared memory: 64 rows of 64 bf16
// values, which begins at a multiple of 1,024 bytes and whose rows are swizzled
// (attention_tile.cuh).

// Where a tile begins, in units of 16 bytes. The compiler may not compute it and what is some steps
// further before a loop: it would keep all of them.
__device__ inline unsigned start_of(const bf16* tile) {
  unsigned start = static_cast<unsigned>(__cvta_generic_to_shared(tile)) >> 4;
  asm volatile("" : "+r"(start));
  return start;
}

// A tile, or what follows in it, as an instruction wants it: the start, a distance that rows so
// swizzled do not need, that of eight rows, and that they are swizzled.
__device__ inline uint64_t swizzled_tile(unsigned start) {
  constexpr uint64_t kEightRows = 1024 >> 4, kTurned = 1;
  return (start + (1u << 16)) | kEightRows << 32 | kTurned << 62;
}

// One matmul into 64 × 64 sums, numbers 0 to 31 of its operands: added to them unless `adds` is 0;
// `factors` and what they are follow.
#define CONVSEQ_MULTIPLY_ADD_64(adds, factors, ...)                                                \
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

// sums += a · b, 16 columns of a and rows of b, at some time before wgmma_wait() returns.
__device__ inline void multiply_add_64(float (&sums)[8][4], const unsigned (&a)[4], uint64_t b) {
  CONVSEQ_MULTIPLY_ADD_64("1", "{%32, %33, %34, %35}, %36, add, 1, 1, 1", "r"(a[0]), "r"(a[1]),
                          "r"(a[2]), "r"(a[3]), "l"(b));
}

// sums = a · bᵀ, or sums += it: 16 columns of each, which are both in tiles.
__device__ inline void multiply_add_64(float (&sums)[8][4], uint64_t a, uint64_t b, bool add) {
  CONVSEQ_MULTIPLY_ADD_64("%34", "%32, %33, add, 1, 1, 0, 0", "l"(a), "l"(b),
                          "r"(static_cast<int>(add)));
}

// sums = aᵀ · b, or sums += it: 16 rows of each, which are both in tiles.
__device__ inline void multiply_add_64_of_rows(float (&sums)[8][4], uint64_t a, uint64_t b,
                                               bool add) {
  CONVSEQ_MULTIPLY_ADD_64("%34", "%32, %33, add, 1, 1, 1, 1", "l"(a), "l"(b),
                          "r"(static_cast<int>(add)));
}

#undef CONVSEQ_MULTIPLY_ADD_64

__device__ inline void wgmma_fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }

__device__ inline void wgmma_commit() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}

__device__ inline void wgmma_wait() {
  asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
}

// The compiler may not move sums across this.
__device__ inline void hold(float (&sums)[8][4]) {
#pragma unroll
  for (auto& part : sums) {
#pragma unroll
    for (float& sum : part) asm volatile("" : "+f"(sum)::"memory");
  }
}

#endif

}  // namespace convseq::kernels
