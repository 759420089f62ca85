#pragma once

#include "convseq/kernels/cuda/conv/conv_band.cuh"
#include "convseq/kernels/cuda/conv/gate.cuh"

// The backward pass of the convolutions in conv_band.cuh for 16 rows of one strip. A warp takes 16
// channels (a slice) at a time, as operands of its matmuls. Gates and gradients of one slice are in
// registers, and the gradients overwrite x.
namespace convseq::kernels {

constexpr int kSlice = 16;  // channels
constexpr int kSliceBytes = kSlice * sizeof(bf16);
constexpr int kRowBytes = kBandStrip * sizeof(bf16);

// Rows in shared memory: the ring buffer of dy, then rows of x, then their gates. Gated rows of x
// have one slot only: a warp loads the next rows to where it has just written. Addresses are byte
// offsets, so that the next slice of a swizzled row is one XOR away.
template <bool kGlu>
struct BandBackwardMemory {
  static constexpr int kSlots = kGlu ? 1 : 2;
  uint4* start;
  int inputs;  // the first row of x
  int gates;   // bytes from a row to its gates
  int swizzle_shift;

  __device__ BandBackwardMemory(const BandShape& shape, uint4* memory)
      : start(memory),
        inputs(shape.ring),
        gates(shape.chunk * kRowBytes),
        swizzle_shift(shape.dilation_zeros) {}

  // A matmul reads rows `dilation` apart. The swizzle skips the bits in which they do not differ.
  __device__ int byte_offset(int row, int vec) const {
    return row * kRowBytes + (vec ^ (row >> swizzle_shift & 7)) * static_cast<int>(sizeof(uint4));
  }

  __device__ bf16* at(int byte_offset) const {
    return reinterpret_cast<bf16*>(reinterpret_cast<char*>(start) + byte_offset);
  }

  template <int kBlocks>
  static size_t bytes(const BandShape& shape) {
    // Two slots of x, or one slot and its gates.
    const size_t mainloop = (shape.ring + shape.chunk * 2) * kRowBytes;
    const size_t epilogue = sizeof(float) * kBandWarps * kBandTile * (kBlocks * kBandTile + 1);
    return mainloop > epilogue ? mainloop : epilogue;
  }
};

// A task's matmuls: its rows of x from `own` on with the ring's rows of dy from `first` on.
template <bool kGlu, int kBlocks>
struct BandTask {
  const BandBackwardMemory<kGlu>& memory;
  int own;
  int dy_for_x[kBlocks];  // byte offsets of a lane's rows of dy, as operands of the matmul with x
  int dy_for_taps[kBlocks];  // and of the matmul with the taps

  __device__ BandTask(const BandShape& shape, const BandBackwardMemory<kGlu>& from, int own_row,
                      int first)
      : memory(from) {
    const int lane = threadIdx.x % kLanes;
    own = memory.byte_offset(own_row + lane % kBandTile * shape.dilation, lane / 16);
    const BandWindow<kBlocks> columns(shape, first, lane % 8 + lane / 16 * 8);
    const BandWindow<kBlocks> rows(shape, first, lane % kBandTile);
#pragma unroll
    for (int b = 0; b < kBlocks; ++b) {
      dy_for_x[b] = memory.byte_offset(columns.rows[b], lane / 8 % 2);
      dy_for_taps[b] = memory.byte_offset(rows.rows[b], lane / 16);
    }
  }

  __device__ void add_x_dy(const unsigned (&x)[4], int slice_offset,
                           BandAccumulators<kBlocks>& accumulators) const {
#pragma unroll
    for (int b = 0; b < kBlocks; ++b) {
      unsigned dy[4];
      ldmatrix_x4(dy, memory.at(dy_for_x[b] ^ slice_offset));
      mma_m16n8k16(accumulators.sums[b][0], x, dy[0], dy[1]);
      mma_m16n8k16(accumulators.sums[b][1], x, dy[2], dy[3]);
    }
  }

  __device__ void matmul_taps_dy(const BandTaps<kBlocks>& taps, int slice_offset,
                                 float (&sums)[2][4]) const {
#pragma unroll
    for (int b = 0; b < kBlocks; ++b) {
      unsigned dy[4];
      ldmatrix_x4_transposed(dy, memory.at(dy_for_taps[b] ^ slice_offset));
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        mma_m16n8k16(sums[half], taps.high[b], dy[half * 2], dy[half * 2 + 1]);
        mma_m16n8k16(sums[half], taps.low[b], dy[half * 2], dy[half * 2 + 1]);
      }
    }
  }

  __device__ void run(const BandTaps<kBlocks>& taps,
                      BandAccumulators<kBlocks>& accumulators) const {
#pragma unroll
    for (int slice_offset = 0; slice_offset < kRowBytes; slice_offset += kSliceBytes) {
      unsigned values[4], gates[4];
      float du[2][4] = {};
      ldmatrix_x4(values, memory.at(own ^ slice_offset));
      if constexpr (kGlu) {
        ldmatrix_x4(gates, memory.at((own ^ slice_offset) + memory.gates));
        const GatedSlice gated(values, gates);
        add_x_dy(values, slice_offset, accumulators);
        matmul_taps_dy(taps, slice_offset, du);
        gated.make_gradients(du, values, gates);
        stmatrix_x4(memory.at((own ^ slice_offset) + memory.gates), gates);
      } else {
        add_x_dy(values, slice_offset, accumulators);
        matmul_taps_dy(taps, slice_offset, du);
        pack_sums(du, values);
      }
      stmatrix_x4(memory.at(own ^ slice_offset), values);
    }
  }
};

}  // namespace convseq::kernels
