#pragma once

#include "convseq/kernels/cuda/common.cuh"
#include "convseq/kernels/cuda/tensor_core.cuh"

// Transposes positions of a strip of channels between global memory, where the channels of one
// position are contiguous, and shared memory, where the positions of one channel are.
namespace convseq::kernels {

constexpr int kVectorBytes = 16;         // of 8 bf16 values
constexpr int kVectorChannels = kLanes;  // whose vectors a warp transposes at once

// 16 bytes of global memory where they exist, else zeros, without a branch.
__device__ inline uint4 load_or_zero(const bf16* from, bool exists) {
  uint4 values;
  asm volatile(
      "{.reg .pred exists; setp.ne.b32 exists, %5, 0; mov.b32 %0, 0; mov.b32 %1, 0; "
      "mov.b32 %2, 0; mov.b32 %3, 0; @exists ld.global.v4.b32 {%0, %1, %2, %3}, [%4];}"
      : "=&r"(values.x), "=&r"(values.y), "=&r"(values.z), "=&r"(values.w)
      : "l"(from), "r"(static_cast<int>(exists)));
  return values;
}

__device__ inline void store_vector(bf16* to, const uint4& values) {
  asm volatile("st.global.v4.b32 [%0], {%1, %2, %3, %4};" ::"l"(to), "r"(values.x), "r"(values.y),
               "r"(values.z), "r"(values.w)
               : "memory");
}

// Eight channels of the rows of one sequence in global memory. Row 0 is at position `first`, which
// may not exist.
struct SequenceRows {
  int pitch;  // values from one position to the next
  int first;
  int step;
  int real;  // positions that exist

  __device__ bool exists(int row) const {
    return static_cast<unsigned>(first + row * step) < static_cast<unsigned>(real);
  }
  __device__ int64_t offset(int row) const { return int64_t{first + row * step} * pitch; }

  __device__ uint4 load(const bf16* start, int row, bool wanted) const {
    return load_or_zero(start + offset(row), wanted && exists(row));
  }
  __device__ void store(bf16* start, int row, const uint4& values) const {
    if (exists(row)) store_vector(start + offset(row), values);
  }
};

// The rows of a strip's channels in shared memory: kVectors vectors of 8 positions each. Vectors
// are swizzled so that ldmatrix and stmatrix access distinct banks, for every other vector of one
// channel as well as for one vector of the channels that transposed_channel() gives.
template <int kVectors>
struct ChannelRows {
  static constexpr int kPitch = ceil_div(kVectors, 8) * 8 * kVectorBytes;
  char* start;

  __device__ static int vector_offset(int vec) { return (vec ^ (vec >> 3 & 1)) * kVectorBytes; }

  __device__ bf16* at(int channel, int vector_offset) const {
    const int swizzle = ((channel & 1) | (channel >> 2 & 6)) * kVectorBytes;
    return reinterpret_cast<bf16*>(start + channel * kPitch + (vector_offset ^ swizzle));
  }
};

// A warp transposes 8 positions of 32 channels at once. In global memory lane l has position l / 4
// and the 8 channels from 8 (l mod 4) on. As matrix m it passes the channels 2m and 2m + 1 of each
// 8; this is the channel whose address lane l passes to ldmatrix or stmatrix.
__device__ inline int transposed_channel() {
  const int lane = threadIdx.x % kLanes;
  return lane % 8 / 2 * 8 + lane / 8 * 2 + lane % 2;
}

// Calls load(vec, whether it exists) and then store(vec, loaded) for a warp's share of kVectors
// vectors of its group of channels, several at a time so that their loads are in flight together.
template <class Work, int kVectors, int kLoads, class Load, class Store>
__device__ void for_vectors(Load load, Store store) {
  constexpr int kStep = Work::kWarps / Work::kGroups, kShare = ceil_div(kVectors, kStep);
  constexpr int kBatch = ceil_div(kShare, ceil_div(kShare, kLoads));
  int first = threadIdx.x / kLanes / Work::kGroups;
  asm volatile("" : "+r"(first));  // so that no address of a vector is kept in a register
#pragma unroll 1
  for (int base = first; base < kVectors; base += kBatch * kStep) {
    const auto inside = [&](int n) {
      return (kBatch == kShare && (n + 1) * kStep <= kVectors) || base + n * kStep < kVectors;
    };
    decltype(load(0, true)) loaded[kBatch];
#pragma unroll
    for (int n = 0; n < kBatch; ++n) loaded[n] = load(base + n * kStep, inside(n));
#pragma unroll
    for (int n = 0; n < kBatch; ++n) {
      if (inside(n)) store(base + n * kStep, loaded[n]);
    }
  }
}

// What a lane transposes: 8 channels of the strip at one position of a vector.
template <class Work>
struct TransposedLane {
  int group = threadIdx.x / kLanes % Work::kGroups * kVectorChannels;
  int position = threadIdx.x % kLanes / 4;
  int channel = group + threadIdx.x % 4 * 8;
  int matrix_channel = group + transposed_channel();  // whose address it passes
};

template <int kVectors>
__device__ void store_transposed(const ChannelRows<kVectors>& rows, int vec, int matrix_channel,
                                 const uint4& values) {
  const unsigned words[4] = {values.x, values.y, values.z, values.w};
  stmatrix_x4_transposed(rows.at(matrix_channel, rows.vector_offset(vec)), words);
}

template <int kVectors>
__device__ uint4 load_transposed(const ChannelRows<kVectors>& rows, int vec, int matrix_channel) {
  unsigned words[4];
  ldmatrix_x4_transposed(words, rows.at(matrix_channel, rows.vector_offset(vec)));
  return {words[0], words[1], words[2], words[3]};
}

}  // namespace convseq::kernels
