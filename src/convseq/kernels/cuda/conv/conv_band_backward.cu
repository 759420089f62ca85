#include "convseq/kernels/cuda/conv/conv_band_backward.cuh"
#include "convseq/kernels/cuda/conv/conv_paths.h"

// The ring buffer holds rows of dy; a step's own rows of x lie next to it in shared memory. The
// band of taps times dy is dx. The rows of x times dyᵀ, summed along diagonals at the end, are the
// gradient of the taps.
namespace convseq::kernels {
namespace {

constexpr int kPrefetch = 1;  // steps whose rows of dy are prefetched
constexpr int kBlockRows = 256;

// Blocks per multiprocessor: as many as the registers allow.
constexpr int blocks_at_once(int band_blocks) { return band_blocks == 2 ? 6 : 5; }

struct BandBackwardArrays {
  const bf16* x;
  const float* taps;
  const int64_t* lengths;
  const bf16* dy;
  bf16* dx;
  float* partial;  // [slices, k, strips]
};

// Sums the accumulators of all warps along the diagonals, in a fixed order.
template <int kBlocks>
__device__ void write_partials(const BandShape& shape,
                               const BandAccumulators<kBlocks>& accumulators, float* memory,
                               float* partial) {
  constexpr int kPitch = kBlocks * kBandTile + 1;
  float* own = memory + threadIdx.x / kLanes * kBandTile * kPitch;
  accumulators.for_entries([&](int r, int q, float sum) { own[r * kPitch + q] = sum; });
  __syncthreads();
  const int tap = threadIdx.x;  // counted from the last
  if (tap >= shape.kernel) return;
  float sum = 0;
  for (int row = 0; row < kBandWarps * kBandTile; ++row) {
    sum += memory[row * kPitch + tap + row % kBandTile];
  }
  partial[(shape.kernel - 1 - tap) * shape.strips] = sum;
}

// Calls use(byte_offset, position, offset) for the vectors of a task's 16 rows, from row `row` of x
// in shared memory and from position `first` on. Each lane always gets the same vectors.
template <class Memory, class Use>
__device__ void for_task_vectors(const BandShape& shape, const Memory& memory, int row, int first,
                                 int pitch, Use use) {
  const int lane = threadIdx.x % kLanes;
  const int vec = lane % kBandVectors;
#pragma unroll
  for (int i = 0; i < kBandTile; i += kLanes / kBandVectors) {
    const int r = (lane / kBandVectors + i) * shape.dilation;
    use(memory.byte_offset(row + r, vec), first + r,
        int64_t{first + r} * pitch + vec * kBandValues);
  }
}

// kDense: the dilation is 1, so that more of a step is known at compile time.
template <bool kGlu, int kBlocks, bool kDense>
__global__ void __launch_bounds__(kBandThreads, blocks_at_once(kBlocks))
    band_backward_kernel(BandShape shape, BandBackwardArrays arrays) {
  if constexpr (kDense) {
    shape.dilation = 1;
    shape.dilation_zeros = 0;
    shape.chunk = kBandWarps * kBandTile;
  }
  grid_dependency_wait();
  extern __shared__ uint4 shared_memory[];
  const BandBackwardMemory<kGlu> memory(shape, shared_memory);
  const BandCoord coord(shape);
  const int channel = coord.strip * kBandStrip;
  const int pitch = shape.channels * (kGlu ? 2 : 1);
  const int64_t sequence = int64_t{coord.batch} * shape.time;
  const bf16* dy = arrays.dy + sequence * shape.channels + channel;
  const bf16* x = arrays.x + sequence * pitch + channel;
  bf16* dx = arrays.dx + sequence * pitch + channel;
  const int real = real_length(arrays.lengths, coord.batch, shape.time);
  const int dy_first = coord.first + shape.left - shape.reach();
  const int warp = threadIdx.x / kLanes;

  const auto slot_of = [&](int step) { return memory.inputs + step % memory.kSlots * shape.chunk; };
  const auto copy_input = [&](int step, int row) {
    for_task_vectors(shape, memory, slot_of(step) + row, coord.first + step * shape.chunk + row,
                     pitch, [&](int to, int position, int64_t offset) {
                       cp_async_16(memory.at(to), x + offset, position < real);
                       if constexpr (kGlu) {
                         cp_async_16(memory.at(to + memory.gates), x + offset + shape.channels,
                                     position < real);
                       }
                     });
  };
  const auto store_gradients = [&](int step, int row) {
    for_task_vectors(shape, memory, slot_of(step) + row, coord.first + step * shape.chunk + row,
                     pitch, [&](int from, int position, int64_t offset) {
                       if (position >= shape.time) return;
                       const auto store = [&](int vec, bf16* to) {
                         uint4 values{};
                         if (position < real) values = *reinterpret_cast<uint4*>(memory.at(vec));
                         *reinterpret_cast<uint4*>(to) = values;
                       };
                       store(from, dx + offset);
                       if constexpr (kGlu) store(from + memory.gates, dx + offset + shape.channels);
                     });
  };
  const auto for_tasks = [&](auto use) {
    for (int task = warp; task * kBandTile < shape.chunk; task += kBandWarps) {
      use(band_task_row(shape, task));
    }
  };

  // Copies `count` rows of dy (or up to 15 more) from the block's row `from` on to ring rows `to`
  // on.
  const auto copy_dy = [&](int from, int to, int count) {
    const int thread_row = threadIdx.x / kBandVectors, vec = threadIdx.x % kBandVectors;
#pragma unroll
    for (int row = 0; row < count; row += kBandThreads / kBandVectors) {
      const int position = dy_first + from + row + thread_row;
      cp_async_16(memory.at(memory.byte_offset(ring_row(shape, to + row + thread_row), vec)),
                  dy + int64_t{position} * shape.channels + vec * kBandValues,
                  static_cast<unsigned>(position) < static_cast<unsigned>(shape.time));
    }
  };

  copy_dy(0, 0, added_row(shape, 1));
  for_tasks([&](int row) { copy_input(0, row); });
  BandTaps<kBlocks> taps;
  taps.load(arrays.taps + channel / shape.head_width * shape.kernel, shape.kernel, true);
  BandAccumulators<kBlocks> accumulators = {};

  int start = 0;  // ring row of the step's first row of dy
  for (int step = 0; step < coord.steps; ++step) {
    cp_async_wait_all();
    __syncthreads();
    const bool has_next = step + 1 < coord.steps;
    if (has_next) {
      const int added = added_row(shape, 1);
      copy_dy(added + step * shape.chunk, ring_row(shape, start + added), shape.chunk);
    }
    for_tasks([&](int row) {
      if (!kGlu && has_next) copy_input(step + 1, row);
      BandTask<kGlu, kBlocks>(shape, memory, slot_of(step) + row, start + row)
          .run(taps, accumulators);
      __syncwarp();
      store_gradients(step, row);
      if (kGlu && has_next)
        copy_input(step + 1, row);  // each lane overwrites the vectors that it has just read
    });
    start = ring_row(shape, start + shape.chunk);
  }
  __syncthreads();
  const int64_t slice = int64_t{coord.batch} * shape.segments + coord.segment;
  write_partials(shape, accumulators, reinterpret_cast<float*>(shared_memory),
                 arrays.partial + slice * shape.kernel * shape.strips + coord.strip);
}

BandShape backward_band(const ConvShape& shape) { return band_shape(shape, kBlockRows, kPrefetch); }

}  // namespace

bool band_backward(const ConvShape& shape, const ConvBackward& arrays, cudaStream_t stream) {
  if (!fits_band(shape)) return false;
  if (!is_aligned(arrays.x) || !is_aligned(arrays.dy) || !is_aligned(arrays.dx)) return false;
  const BandShape band = backward_band(shape);
  const unsigned blocks = checked_grid(shape.batch * band.segments * band.strips, "conv_backward");
  auto* partial = static_cast<float*>(arrays.workspace);
  const bool done = with_bool(shape.glu, [&](auto glu) {
    return with_band_blocks(shape.kernel, [&](auto size) {
      const size_t bytes = BandBackwardMemory<glu.value>::template bytes<size.value>(band);
      if (bytes > kBandMaxBytes) return false;
      with_bool(band.dilation == 1, [&](auto dense) {
        const auto kernel = band_backward_kernel<glu.value, size.value, dense.value>;
        allow_shared_memory(kernel, bytes);
        launch_dependent(
            kernel, blocks, kBandThreads, bytes, stream, band,
            {static_cast<const bf16*>(arrays.x), arrays.taps, arrays.lengths,
             static_cast<const bf16*>(arrays.dy), static_cast<bf16*>(arrays.dx), partial});
      });
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
