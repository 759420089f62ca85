#pragma once

#include "convseq/kernels/cuda/common.cuh"

// Rows of int8 with a scale, sixteen neighbouring channels per lane.
namespace convseq::kernels {

constexpr int kInt8Pack = 16;

template <class T>
__device__ void load_channels(const T* from, float (&values)[kInt8Pack]) {
  constexpr int kPack = 16 / sizeof(T);
#pragma unroll
  for (int first = 0; first < kInt8Pack; first += kPack) {
    float some[kPack];
    load_values(from + first, some);
#pragma unroll
    for (int i = 0; i < kPack; ++i) values[first + i] = some[i];
  }
}

// max |value| of a row, which kRowLanes neighbouring lanes hold. All lanes of the warp call it.
template <int kRowLanes>
__device__ float row_max_abs(const float (&values)[kInt8Pack]) {
  float most = 0;
#pragma unroll
  for (const float value : values) most = fmaxf(most, fabsf(value));
#pragma unroll
  for (int step = kRowLanes / 2; step > 0; step /= 2) {
    most = fmaxf(most, __shfl_xor_sync(kAllLanes, most, step));
  }
  return most;
}

// Sixteen channels of a row ≈ scale · int8.
struct Int8Channels {
  uint4 packed;
  float scale;
};

__device__ inline unsigned pack_bytes(int a, int b, int c, int d) {
  return (a & 0xff) | (b & 0xff) << 8 | (c & 0xff) << 16 | static_cast<unsigned>(d) << 24;
}

template <int kRowLanes>
__device__ Int8Channels quantize(const float (&values)[kInt8Pack]) {
  const float scale = row_max_abs<kRowLanes>(values) / 127.f;
  const float divisor = scale > 0 ? scale : 1.f;
  int rounded[kInt8Pack];
#pragma unroll
  for (int i = 0; i < kInt8Pack; ++i) {
    rounded[i] = max(-127, min(__float2int_rn(values[i] / divisor), 127));
  }
  unsigned words[4];
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    words[i] =
        pack_bytes(rounded[4 * i], rounded[4 * i + 1], rounded[4 * i + 2], rounded[4 * i + 3]);
  }
  return {{words[0], words[1], words[2], words[3]}, scale};
}

// Four int8 numbers as fp32. The bytes plus 128 are the last bits of 2^23 + 128 + n, which takes
// one byte permutation and one subtraction; conversion instructions have a quarter of the
// throughput.
__device__ inline void unpack_int8(unsigned word, float (&values)[4]) {
  const unsigned bytes = word ^ 0x80808080u;
#pragma unroll
  for (unsigned i = 0; i < 4; ++i) {
    values[i] = __uint_as_float(__byte_perm(bytes, 0x4b000000u, 0x7440u + i)) - 8388736.f;
  }
}

}  // namespace convseq::kernels
