#pragma once

#include "kernels/cuda_common.cuh"

// Products of 16 × 16 by 16 × 8 bf16 values on the tensor cores of one warp, sums in fp32.
namespace convseq::kernels {

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

// sums += a · b. Lane l holds of the sums rows l/4 and l/4 + 8, columns 2 (l mod 4) and the next.
__device__ inline void multiply_add(float (&sums)[4], const unsigned (&a)[4], unsigned b0,
                                    unsigned b1) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
      "{%8, %9}, {%0, %1, %2, %3};"
      : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

}  // namespace convseq::kernels
