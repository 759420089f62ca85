#include "convseq/kernels/cuda/conv/conv_band.cuh"
#include "convseq/kernels/cuda/conv/conv_paths.h"
#include "convseq/kernels/cuda/conv/gate.cuh"

namespace convseq::kernels {
namespace {

// Steps to prefetch, and rows per block; chosen by measurement.
template <bool kGlu, int kBlocks>
struct BandForwardWork {
  static constexpr bool kShort = !kGlu && kBlocks == 2;
  static constexpr int kPrefetch = kShort ? 2 : 1;
  static constexpr int kRows = kShort ? 256 : 512;
};

struct BandForwardArrays {
  const bf16* x;
  const float* taps;
  const int64_t* lengths;
  bf16* y;
};

// The shared memory of a block, in rows of one strip.
struct BandForwardMemory {
  bf16* ring;
  bf16* outputs;  // [kBandWarps, 16]
  bf16* gates;    // [ahead, chunk]

  __device__ BandForwardMemory(const BandShape& shape, uint4* memory)
      : ring(reinterpret_cast<bf16*>(memory)),
        outputs(ring + shape.ring * kBandStrip),
        gates(outputs + kBandWarps * kBandTile * kBandStrip) {}

  static size_t bytes(const BandShape& shape, int gate_steps) {
    const int rows = shape.ring + kBandWarps * kBandTile + gate_steps * shape.chunk;
    return static_cast<size_t>(rows) * kBandStrip * sizeof(bf16);
  }
};

// Loads the rows of the steps and applies the gate. Each thread gates the vectors that it copied
// itself, so that it waits for no other thread.
template <bool kGlu, int kPrefetch>
struct BandInput {
  const BandShape& shape;
  const BandForwardMemory& memory;
  BandRows rows;
  int first;  // position of the block's first row
  int steps;

  __device__ void begin_step(int step) const {
    if (step < steps) {
      const int added = added_row(shape, step);
      copy_to_ring(shape, rows, first + added, added % shape.ring, shape.chunk, memory.ring);
      if constexpr (kGlu) {
        bf16* gates = memory.gates + step % kPrefetch * shape.chunk * kBandStrip;
        rows.for_vectors(first + added, shape.chunk,
                         [&](int row, int vec, const bf16* from, bool exists) {
                           cp_async_16(band_vector(gates, row, vec), from + shape.channels, exists);
                         });
      }
    }
    cp_async_commit_group();
  }

  __device__ void begin_halo() const {
    if constexpr (!kGlu) copy_to_ring(shape, rows, first, 0, shape.reach(), memory.ring);
  }

  __device__ void gate_halo() const {
    rows.for_vectors(first, shape.reach(), [&](int row, int vec, const bf16* from, bool exists) {
      uint4 made{};
      if (exists) {
        made = gate_vector(*reinterpret_cast<const uint4*>(from),
                           *reinterpret_cast<const uint4*>(from + shape.channels));
      }
      *reinterpret_cast<uint4*>(band_vector(memory.ring, row, vec)) = made;
    });
  }

  __device__ void gate_step(int step) const {
    const int added = added_row(shape, step) % shape.ring;
    bf16* gates = memory.gates + step % kPrefetch * shape.chunk * kBandStrip;
    rows.for_vectors(0, shape.chunk, [&](int row, int vec, const bf16*, bool) {
      auto* value =
          reinterpret_cast<uint4*>(band_vector(memory.ring, ring_row(shape, added + row), vec));
      *value = gate_vector(*value, *reinterpret_cast<uint4*>(band_vector(gates, row, vec)));
    });
  }
};

template <bool kGlu, int kBlocks>
__global__ void __launch_bounds__(kBandThreads, 6)
    band_forward_kernel(BandShape shape, BandForwardArrays arrays) {
  constexpr int kPrefetch = BandForwardWork<kGlu, kBlocks>::kPrefetch;
  grid_dependency_wait();
  extern __shared__ uint4 shared_memory[];
  const BandForwardMemory memory(shape, shared_memory);
  const BandCoord coord(shape);
  const int channel = coord.strip * kBandStrip;
  const int pitch = shape.channels * (kGlu ? 2 : 1);
  const int64_t sequence = int64_t{coord.batch} * shape.time;
  const BandInput<kGlu, kPrefetch> input{shape,
                                         memory,
                                         {arrays.x + sequence * pitch + channel, pitch,
                                          real_length(arrays.lengths, coord.batch, shape.time)},
                                         coord.first - shape.left,
                                         coord.steps};
  input.begin_halo();
  for (int step = 0; step < kPrefetch; ++step) input.begin_step(step);
  BandTaps<kBlocks> taps;
  taps.load(arrays.taps + channel / shape.head_width * shape.kernel, shape.kernel, false);
  if constexpr (kGlu) input.gate_halo();

  const int warp = threadIdx.x / kLanes;
  bf16* outputs = memory.outputs + warp * kBandTile * kBandStrip;
  bf16* y = arrays.y + sequence * shape.channels + channel;
  for (int step = 0; step < coord.steps; ++step) {
    cp_async_wait_group<kPrefetch - 1>();
    if constexpr (kGlu) input.gate_step(step);
    __syncthreads();
    input.begin_step(step + kPrefetch);
    const int start = step * shape.chunk % shape.ring;
    for (int task = warp; task * kBandTile < shape.chunk; task += kBandWarps) {
      const int row = band_task_row(shape, task);
      BandSums sums = {};
      matmul_taps(shape, taps, memory.ring, start + row, sums);
      store_sums(outputs, sums);
      __syncwarp();
      const int position = coord.first + step * shape.chunk + row;
      store_band_rows(outputs, 0, 1, [&](int r) {
        const int at = position + r * shape.dilation;
        return at < shape.time ? y + int64_t{at} * shape.channels : nullptr;
      });
      __syncwarp();
    }
  }
}

}  // namespace

bool band_forward(const ConvShape& shape, const ConvForward& arrays, cudaStream_t stream) {
  if (!fits_band(shape) || !is_aligned(arrays.x) || !is_aligned(arrays.y)) return false;
  return with_bool(shape.glu, [&](auto glu) {
    return with_band_blocks(shape.kernel, [&](auto size) {
      using Work = BandForwardWork<glu.value, size.value>;
      const BandShape band = band_shape(shape, Work::kRows, Work::kPrefetch);
      const size_t bytes = BandForwardMemory::bytes(band, glu.value ? Work::kPrefetch : 0);
      if (bytes > kBandMaxBytes) return false;
      const unsigned blocks =
          checked_grid(shape.batch * band.segments * band.strips, "conv_forward");
      const auto kernel = band_forward_kernel<glu.value, size.value>;
      allow_shared_memory(kernel, bytes);
      launch_dependent(kernel, blocks, kBandThreads, bytes, stream, band,
                       {static_cast<const bf16*>(arrays.x), arrays.taps, arrays.lengths,
                        static_cast<bf16*>(arrays.y)});
      return true;
    });
  });
}

}  // namespace convseq::kernels
