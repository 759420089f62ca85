#pragma once

#include "convseq/kernels/cuda/conv/conv_band.cuh"

// The backward pass of conv_band.cuh's convolutions, 16 rows of one strip: a warp takes 16 channels
// (a slice) at a time, as the operands of its products. Gates and gradients live in the registers
// of one slice, and the gradients take the place of x.
namespace convseq::kernels {

constexpr int kSlice = 16;  // channels
constexpr int kSliceTurn = kSlice * sizeof(bf16);
constexpr int kRowBytes = kBandStrip * sizeof(bf16);

// Rows in shared memory: the ring of dy, then those of x, then their gates. Gated rows of x have
// one slot only: a warp brings the next where it has just written. Places are bytes from the first:
// the next slice of a row is an exclusive or away.
template <bool kGlu>
struct BandBackwardMemory {
  static constexpr int kSlots = kGlu ? 1 : 2;
  uint4* start;
  int inputs;  // the first row of x
  int gates;   // bytes from a row to its gates

  __device__ BandBackwardMemory(const BandShape& shape, uint4* memory)
      : start(memory), inputs(shape.ring), gates(shape.chunk * kRowBytes) {}

  __device__ static int place(int row, int piece) {
    return row * kRowBytes + (piece ^ (row & 7)) * static_cast<int>(sizeof(uint4));
  }

  __device__ bf16* at(int place) const {
    return reinterpret_cast<bf16*>(reinterpret_cast<char*>(start) + place);
  }

  template <int kBlocks>
  static size_t bytes(const BandShape& shape) {
    // Of x two slots, or one and its gates.
    const size_t marching = (shape.ring + shape.chunk * 2) * kRowBytes;
    const size_t ending = sizeof(float) * kBandWarps * kBandTile * (kBlocks * kBandTile + 1);
    return marching > ending ? marching : ending;
  }
};

// σ(g), and 1 − σ(g) as e^−g · σ(g), which is as exact; e^−g stays finite.
struct Gate {
  float open;
  float shut;

  __device__ explicit Gate(float g) {
    float exponent = g * -1.44269504f, power;
    asm("min.NaN.f32 %0, %0, 0f42FC0000;" : "+f"(exponent));  // 126
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"(exponent));
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(open) : "f"(1.f + power));
    shut = power * open;
  }
};

// With u = a · σ(g): da = du · σ, dg = du · u · (1 − σ). Of one slice.
struct GatedSlice {
  float2 open[4];
  float2 gate_gradient[4];  // u · (1 − σ)

  // Values to gated values.
  __device__ GatedSlice(unsigned (&values)[4], const unsigned (&gates)[4]) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const float2 a = unpack_pair(values[i]), g = unpack_pair(gates[i]);
      const Gate first(g.x), second(g.y);
      const float2 u{a.x * first.open, a.y * second.open};
      open[i] = {first.open, second.open};
      gate_gradient[i] = {u.x * first.shut, u.y * second.shut};
      values[i] = pack_pair(u.x, u.y);
    }
  }
};

// A task's products: its rows of x, from `own` on, with those of the ring from `first` on.
template <bool kGlu, int kBlocks>
struct BandTask {
  const BandBackwardMemory<kGlu>& memory;
  int own;
  int across[kBlocks];  // what a lane brings of dy to the products with x
  int along[kBlocks];   // and with the taps

  __device__ BandTask(const BandShape& shape, const BandBackwardMemory<kGlu>& from, int own_row,
                      int first)
      : memory(from) {
    const int lane = threadIdx.x % kLanes;
    own = memory.place(own_row + lane % kBandTile * shape.dilation, lane / 16);
    const BandWindow<kBlocks> columns(shape, first, lane % 8 + lane / 16 * 8);
    const BandWindow<kBlocks> rows(shape, first, lane % kBandTile);
#pragma unroll
    for (int b = 0; b < kBlocks; ++b) {
      across[b] = memory.place(columns.rows[b], lane / 8 % 2);
      along[b] = memory.place(rows.rows[b], lane / 16);
    }
  }

  __device__ void add_products(const unsigned (&x)[4], int turn,
                               BandProducts<kBlocks>& products) const {
#pragma unroll
    for (int b = 0; b < kBlocks; ++b) {
      unsigned dy[4];
      load_matrices(dy, memory.at(across[b] ^ turn));
      multiply_add(products.sums[b][0], x, dy[0], dy[1]);
      multiply_add(products.sums[b][1], x, dy[2], dy[3]);
    }
  }

  __device__ void multiply(const BandTaps<kBlocks>& taps, int turn, float (&sums)[2][4]) const {
#pragma unroll
    for (int b = 0; b < kBlocks; ++b) {
      unsigned dy[4];
      load_matrices_transposed(dy, memory.at(along[b] ^ turn));
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        multiply_add(sums[half], taps.high[b], dy[half * 2], dy[half * 2 + 1]);
        multiply_add(sums[half], taps.low[b], dy[half * 2], dy[half * 2 + 1]);
      }
    }
  }

  __device__ void run(const BandTaps<kBlocks>& taps, BandProducts<kBlocks>& products) const {
#pragma unroll
    for (int turn = 0; turn < kRowBytes; turn += kSliceTurn) {
      unsigned values[4], gates[4];
      float du[2][4] = {};
      load_matrices(values, memory.at(own ^ turn));
      if constexpr (kGlu) {
        load_matrices(gates, memory.at((own ^ turn) + memory.gates));
        const GatedSlice gated(values, gates);
        add_products(values, turn, products);
        multiply(taps, turn, du);
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          const float2 d{du[i / 2][i % 2 * 2], du[i / 2][i % 2 * 2 + 1]};
          values[i] = pack_pair(d.x * gated.open[i].x, d.y * gated.open[i].y);
          gates[i] = pack_pair(d.x * gated.gate_gradient[i].x, d.y * gated.gate_gradient[i].y);
        }
        store_matrices(memory.at((own ^ turn) + memory.gates), gates);
      } else {
        add_products(values, turn, products);
        multiply(taps, turn, du);
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          values[i] = pack_pair(du[i / 2][i % 2 * 2], du[i / 2][i % 2 * 2 + 1]);
        }
      }
      store_matrices(memory.at(own ^ turn), values);
    }
  }
};

}  // namespace convseq::kernels
