#include <cuda_fp16.h>

#include "kernels/conv_band.cuh"
#include "kernels/conv_paths.h"

// The ring holds rows of dy, which a step's own rows of x stand beside: the band of taps times dy
// gives dx, and the rows of x times dyᵀ, summed along diagonals at the very end, the taps'
// gradient.
namespace convseq::kernels {
namespace {

constexpr int kAhead = 1;  // steps whose rows are on their way
constexpr int kBlockRows = 256;
constexpr int kSlots = kAhead + 1;  // of x: one is worked on

struct BandBackwardArrays {
  const bf16* x;
  const float* taps;
  const int64_t* lengths;
  const bf16* dy;
  bf16* dx;
  float* partial;  // [slices, k, strips]
};

struct BandBackwardMemory {
  bf16* ring;    // of dy
  bf16* inputs;  // [kSlots, chunk]
  bf16* gates;   // [kSlots, chunk]

  __device__ BandBackwardMemory(const BandShape& shape, uint4* memory)
      : ring(reinterpret_cast<bf16*>(memory)),
        inputs(ring + shape.ring * kBandStrip),
        gates(inputs + kSlots * shape.chunk * kBandStrip) {}

  template <int kBlocks>
  static size_t bytes(const BandShape& shape, bool glu) {
    const int rows = shape.ring + kSlots * shape.chunk * (glu ? 2 : 1);
    const size_t marching = static_cast<size_t>(rows) * kBandStrip * sizeof(bf16);
    const size_t ending = sizeof(float) * kBandWarps * kBandTile * (kBlocks * kBandTile + 1);
    return marching > ending ? marching : ending;
  }
};

// The products' sums along the diagonals, over all warps, in order.
template <int kBlocks>
__device__ void write_partials(const BandShape& shape, const BandProducts<kBlocks>& products,
                               float* memory, float* partial) {
  constexpr int kPitch = kBlocks * kBandTile + 1;
  float* own = memory + threadIdx.x / kLanes * kBandTile * kPitch;
  products.for_entries([&](int r, int q, float sum) { own[r * kPitch + q] = sum; });
  __syncthreads();
  const int tap = threadIdx.x;  // from the last
  if (tap >= shape.kernel) return;
  float sum = 0;
  for (int row = 0; row < kBandWarps * kBandTile; ++row) {
    sum += memory[row * kPitch + tap + row % kBandTile];
  }
  partial[(shape.kernel - 1 - tap) * shape.strips] = sum;
}

// Between gating and its gradient a gate g is kept as the lesser of σ(g) and 1 − σ(g), in fp16,
// with the sign of g: both come back to 11 bits each, without another exponential.
__device__ unsigned short keep_gate(float g, float& open) {
  const float lesser = sigmoid(-fabsf(g));
  open = g < 0.f ? lesser : 1.f - lesser;
  return __half_as_ushort(__float2half_rn(copysignf(lesser, g)));
}

struct Gate {
  float open;
  float shut;

  __device__ explicit Gate(float kept) {
    const float lesser = fabsf(kept);
    const bool closed = signbit(kept);
    open = closed ? lesser : 1.f - lesser;
    shut = closed ? 1.f - lesser : lesser;
  }
};

// Inputs of a task's 16 rows to gated inputs, where they are.
__device__ void gate_rows(const BandShape& shape, bf16* inputs, bf16* gates, int row) {
  const int lane = threadIdx.x % kLanes;
#pragma unroll
  for (int r = lane / kBandPieces; r < kBandTile; r += kLanes / kBandPieces) {
    const int at = row + r * shape.dilation;
    bf16* value = band_piece(inputs, at, lane % kBandPieces);
    bf16* gate = band_piece(gates, at, lane % kBandPieces);
    float a[kBandValues], g[kBandValues];
    load_values(value, a);
    load_values(gate, g);
    Pack<unsigned short, kBandValues> kept;
#pragma unroll
    for (int v = 0; v < kBandValues; ++v) {
      float open;
      kept.values[v] = keep_gate(g[v], open);
      a[v] *= open;
    }
    store_values(value, a);
    *reinterpret_cast<Pack<unsigned short, kBandValues>*>(gate) = kept;
  }
}

// The gradients take the place of what they are gradients of. With u = a · σ(g): da = du · σ,
// dg = du · u · (1 − σ).
template <bool kGlu>
__device__ void keep_gradients(const BandShape& shape, bf16* inputs, bf16* gates, int row, int real,
                               const BandSums& sums) {
  const int lane = threadIdx.x % kLanes;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int at = row + (lane / 4 + half * 8) * shape.dilation;
    const bool exists = at < real;
#pragma unroll
    for (int n = 0; n < kBandStrip / 8; ++n) {
      const float2 du =
          exists ? make_float2(sums[n][half * 2], sums[n][half * 2 + 1]) : make_float2(0.f, 0.f);
      auto* value = reinterpret_cast<unsigned*>(band_piece(inputs, at, n)) + lane % 4;
      if constexpr (kGlu) {
        auto* gate = reinterpret_cast<__half2*>(band_piece(gates, at, n)) + lane % 4;
        const float2 u = unpack_pair(*value);
        const Gate first(__low2float(*gate)), second(__high2float(*gate));
        *value = pack_pair(du.x * first.open, du.y * second.open);
        *reinterpret_cast<unsigned*>(gate) =
            pack_pair(du.x * u.x * first.shut, du.y * u.y * second.shut);
      } else {
        *value = pack_pair(du.x, du.y);
      }
    }
  }
}

template <bool kGlu, int kBlocks>
__global__ void __launch_bounds__(kBandThreads, 4)
    band_backward_kernel(BandShape shape, BandBackwardArrays arrays) {
  wait_for_work_before();
  extern __shared__ uint4 shared_memory[];
  const BandBackwardMemory memory(shape, shared_memory);
  const BandPlace place(shape);
  const int channel = place.strip * kBandStrip;
  const int pitch = shape.channels * (kGlu ? 2 : 1);
  const int64_t sequence = int64_t{place.batch} * shape.time;
  const BandRows dy{arrays.dy + sequence * shape.channels + channel, shape.channels, shape.time};
  const BandRows x{arrays.x + sequence * pitch + channel, pitch,
                   real_length(arrays.lengths, place.batch, shape.time)};
  bf16* dx = arrays.dx + sequence * pitch + channel;
  const int dy_first = place.first + shape.left - shape.reach();

  const auto begin_step = [&](int step) {
    if (step < place.steps) {
      const int added = added_row(shape, step);
      copy_to_ring(shape, dy, dy_first + added, added % shape.ring, shape.chunk, memory.ring);
      const int slot = step % kSlots * shape.chunk;
      x.for_pieces(place.first + step * shape.chunk, shape.chunk,
                   [&](int row, int piece, const bf16* from, bool exists) {
                     copy_16_async(band_piece(memory.inputs, slot + row, piece), from, exists);
                     if constexpr (kGlu) {
                       copy_16_async(band_piece(memory.gates, slot + row, piece),
                                     from + shape.channels, exists);
                     }
                   });
    }
    end_copy_group();
  };
  copy_to_ring(shape, dy, dy_first, 0, shape.reach(), memory.ring);
  for (int step = 0; step < kAhead; ++step) begin_step(step);
  BandTaps<kBlocks> taps;
  taps.load(arrays.taps + channel / shape.head_width * shape.kernel, shape.kernel, true);
  BandProducts<kBlocks> products = {};

  const int warp = threadIdx.x / kLanes;
  for (int step = 0; step < place.steps; ++step) {
    wait_for_copy_groups<kAhead - 1>();
    __syncthreads();
    begin_step(step + kAhead);
    const int start = step * shape.chunk % shape.ring;
    const int slot = step % kSlots * shape.chunk;
    const int position = place.first + step * shape.chunk;
    for (int task = warp; task * kBandTile < shape.chunk; task += kBandWarps) {
      const int row = band_task_row(shape, task);
      if constexpr (kGlu) {
        gate_rows(shape, memory.inputs, memory.gates, slot + row);
        __syncwarp();
      }
      const int own = slot + row + threadIdx.x % kBandTile * shape.dilation;
      products.add(shape, memory.inputs, own, memory.ring, start + row);
      BandSums sums = {};
      multiply_taps(shape, taps, memory.ring, start + row, sums);
      __syncwarp();
      keep_gradients<kGlu>(shape, memory.inputs, memory.gates, slot + row, x.real - position + slot,
                           sums);
      __syncwarp();
      const auto store = [&](bf16* from, int offset) {
        store_band_rows(from, slot + row, shape.dilation, [&](int r) {
          const int at = position + row + r * shape.dilation;
          return at < shape.time ? dx + int64_t{at} * pitch + offset : nullptr;
        });
      };
      store(memory.inputs, 0);
      if constexpr (kGlu) store(memory.gates, shape.channels);
    }
  }
  wait_for_copy_groups<0>();
  __syncthreads();
  const int64_t slice = int64_t{place.batch} * shape.segments + place.segment;
  write_partials(shape, products, reinterpret_cast<float*>(shared_memory),
                 arrays.partial + slice * shape.kernel * shape.strips + place.strip);
}

BandShape backward_band(const ConvShape& shape) { return band_shape(shape, kBlockRows, kAhead); }

}  // namespace

bool band_backward(const ConvShape& shape, const ConvBackward& arrays, cudaStream_t stream) {
  if (!fits_band(shape)) return false;
  if (!is_aligned(arrays.x) || !is_aligned(arrays.dy) || !is_aligned(arrays.dx)) return false;
  const BandShape band = backward_band(shape);
  const unsigned blocks = grid_of(shape.batch * band.segments * band.strips, "conv_backward");
  auto* partial = static_cast<float*>(arrays.workspace);
  const bool done = with_bool(shape.glu, [&](auto glu) {
    return with_band_blocks(shape.kernel, [&](auto size) {
      const auto kernel = band_backward_kernel<glu.value, size.value>;
      const size_t bytes = BandBackwardMemory::bytes<size.value>(band, shape.glu);
      if (bytes > kBandMostBytes) return false;
      allow_shared_memory(kernel, bytes);
      launch_early(kernel, blocks, kBandThreads, bytes, stream, band,
                   {static_cast<const bf16*>(arrays.x), arrays.taps, arrays.lengths,
                    static_cast<const bf16*>(arrays.dy), static_cast<bf16*>(arrays.dx), partial});
      return true;
    });
  });
  if (!done) return false;
  sum_tap_partials(shape, partial, shape.batch * band.segments, band.strips, arrays.dtaps, stream);
  return true;
}

size_t band_backward_workspace(const ConvShape& shape) {
  if (!fits_band(shape)) return 0;
  const BandShape band = backward_band(shape);
  return static_cast<size_t>(shape.batch * band.segments * shape.kernel * band.strips) *
         sizeof(float);
}

}  // namespace convseq::kernels
