#include "convseq/kernels/cuda/conv/conv_band_backward.cuh"
#include "convseq/kernels/cuda/conv/conv_paths.h"

// The ring holds rows of dy, which a step's own rows of x stand beside: the band of taps times dy
// gives dx, and the rows of x times dyᵀ, summed along diagonals at the very end, the taps'
// gradient.
namespace convseq::kernels {
namespace {

constexpr int kAhead = 1;  // steps whose rows of dy are on their way
constexpr int kBlockRows = 256;

// Blocks of a multiprocessor at once: as many as registers have room for.
constexpr int blocks_at_once(int band_blocks) { return band_blocks == 2 ? 6 : 5; }

struct BandBackwardArrays {
  const bf16* x;
  const float* taps;
  const int64_t* lengths;
  const bf16* dy;
  bf16* dx;
  float* partial;  // [slices, k, strips]
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

// Piece by piece of a task's 16 rows, the same of a lane whatever is done with them:
// use(place, position, offset), from row `row` of x in memory and from position `first` on.
template <class Memory, class Use>
__device__ void for_task_pieces(const BandShape& shape, const Memory& memory, int row, int first,
                                int pitch, Use use) {
  const int lane = threadIdx.x % kLanes;
  const int piece = lane % kBandPieces;
#pragma unroll
  for (int i = 0; i < kBandTile; i += kLanes / kBandPieces) {
    const int r = (lane / kBandPieces + i) * shape.dilation;
    use(memory.place(row + r, piece), first + r, int64_t{first + r} * pitch + piece * kBandValues);
  }
}

// kDense: the dilation is 1, and much of a step known beforehand.
template <bool kGlu, int kBlocks, bool kDense>
__global__ void __launch_bounds__(kBandThreads, blocks_at_once(kBlocks))
    band_backward_kernel(BandShape shape, BandBackwardArrays arrays) {
  if constexpr (kDense) {
    shape.dilation = 1;
    shape.chunk = kBandWarps * kBandTile;
  }
  wait_for_work_before();
  extern __shared__ uint4 shared_memory[];
  const BandBackwardMemory<kGlu> memory(shape, shared_memory);
  const BandPlace place(shape);
  const int channel = place.strip * kBandStrip;
  const int pitch = shape.channels * (kGlu ? 2 : 1);
  const int64_t sequence = int64_t{place.batch} * shape.time;
  const bf16* dy = arrays.dy + sequence * shape.channels + channel;
  const bf16* x = arrays.x + sequence * pitch + channel;
  bf16* dx = arrays.dx + sequence * pitch + channel;
  const int real = real_length(arrays.lengths, place.batch, shape.time);
  const int dy_first = place.first + shape.left - shape.reach();
  const int warp = threadIdx.x / kLanes;

  const auto slot_of = [&](int step) { return memory.inputs + step % memory.kSlots * shape.chunk; };
  const auto copy_input = [&](int step, int row) {
    for_task_pieces(shape, memory, slot_of(step) + row, place.first + step * shape.chunk + row,
                    pitch, [&](int to, int position, int64_t offset) {
                      copy_16_async(memory.at(to), x + offset, position < real);
                      if constexpr (kGlu) {
                        copy_16_async(memory.at(to + memory.gates), x + offset + shape.channels,
                                      position < real);
                      }
                    });
  };
  const auto store_gradients = [&](int step, int row) {
    for_task_pieces(shape, memory, slot_of(step) + row, place.first + step * shape.chunk + row,
                    pitch, [&](int from, int position, int64_t offset) {
                      if (position >= shape.time) return;
                      const auto store = [&](int piece, bf16* to) {
                        uint4 values{};
                        if (position < real) values = *reinterpret_cast<uint4*>(memory.at(piece));
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

  // `count` rows of dy, or up to 15 more, from the block's row `from` on to ring row `to` and on.
  const auto copy_dy = [&](int from, int to, int count) {
    const int thread_row = threadIdx.x / kBandPieces, piece = threadIdx.x % kBandPieces;
#pragma unroll
    for (int row = 0; row < count; row += kBandThreads / kBandPieces) {
      const int position = dy_first + from + row + thread_row;
      copy_16_async(memory.at(memory.place(ring_row(shape, to + row + thread_row), piece)),
                    dy + int64_t{position} * shape.channels + piece * kBandValues,
                    static_cast<unsigned>(position) < static_cast<unsigned>(shape.time));
    }
  };

  copy_dy(0, 0, added_row(shape, 1));
  for_tasks([&](int row) { copy_input(0, row); });
  BandTaps<kBlocks> taps;
  taps.load(arrays.taps + channel / shape.head_width * shape.kernel, shape.kernel, true);
  BandProducts<kBlocks> products = {};

  int start = 0;  // ring row of the step's first row of dy
  for (int step = 0; step < place.steps; ++step) {
    wait_for_copies();
    __syncthreads();
    const bool goes_on = step + 1 < place.steps;
    if (goes_on) {
      const int added = added_row(shape, 1);
      copy_dy(added + step * shape.chunk, ring_row(shape, start + added), shape.chunk);
    }
    for_tasks([&](int row) {
      if (!kGlu && goes_on) copy_input(step + 1, row);
      BandTask<kGlu, kBlocks>(shape, memory, slot_of(step) + row, start + row).run(taps, products);
      __syncwarp();
      store_gradients(step, row);
      if (kGlu && goes_on) copy_input(step + 1, row);  // a lane's own pieces, just read
    });
    start = ring_row(shape, start + shape.chunk);
  }
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
  const unsigned blocks = checked_grid(shape.batch * band.segments * band.strips, "conv_backward");
  auto* partial = static_cast<float*>(arrays.workspace);
  const bool done = with_bool(shape.glu, [&](auto glu) {
    return with_band_blocks(shape.kernel, [&](auto size) {
      const size_t bytes = BandBackwardMemory<glu.value>::template bytes<size.value>(band);
      if (bytes > kBandMostBytes) return false;
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
