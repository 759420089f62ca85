#include "kernels/dynamic_conv_band.cuh"
#include "kernels/dynamic_conv_taps.cuh"

namespace convseq::kernels {
namespace {

constexpr int kBlockRows = 512;

struct DynamicBackwardMemory {
  bf16* dy;       // ring
  bf16* x;        // ring
  bf16* outputs;  // [kBandWarps, 16]; before that a warp's gradients of the taps, [16, k]
  float* taps;    // ring, as dy's

  __device__ DynamicBackwardMemory(const BandShape& shape, uint4* memory)
      : dy(reinterpret_cast<bf16*>(memory)),
        x(dy + shape.ring * kBandStrip),
        outputs(x + shape.ring * kBandStrip),
        taps(reinterpret_cast<float*>(outputs + kBandWarps * kBandTile * kBandStrip)) {}

  static size_t bytes(const BandShape& shape) {
    const int rows = 2 * shape.ring + kBandWarps * kBandTile;
    return rows * kBandStrip * sizeof(bf16) + sizeof(float) * shape.ring * shape.kernel;
  }
};

template <class Tap>
struct DynamicBackwardArrays {
  const bf16* x;
  const Tap* taps;
  const bf16* dy;
  bf16* dx;
  Tap* dtaps;
};

// d[i][j] = dy[i] · x[i − left + j] over the head's channels, for a warp's 16 positions: exact
// products, and on to the logits where there was a softmax.
template <class Tap, int K>
__device__ void write_tap_gradients(const BandShape& shape, const DynamicBackwardMemory& memory,
                                    const TapRows<Tap>& rows, int first_dy, int first_x,
                                    int position, bool take_softmax, Tap* dtaps) {
  const int lane = threadIdx.x % kLanes;
  static_assert(K * sizeof(float) <= kBandStrip * sizeof(bf16));
  float* own =
      reinterpret_cast<float*>(memory.outputs + threadIdx.x / kLanes * kBandTile * kBandStrip);
  BandProducts<band_blocks(K)> products = {};
  products.add(shape, memory.dy, ring_row(shape, first_dy + lane % kBandTile), memory.x, first_x);
  products.for_entries([&](int r, int q, float sum) {
    if (q - r >= 0 && q - r < K) own[r * K + q - r] = sum;
  });
  __syncwarp();
  const int row = lane / 2;
  if (take_softmax) {
    softmax_gradient_row<K>(memory.taps + ring_row(shape, first_dy + row) * K, own + row * K);
  }
  __syncwarp();
  const TapLane<K> part;
  Tap* to = dtaps + int64_t{position + part.first_row} * rows.pitch + part.tap;
#pragma unroll
  for (int i = 0; i < TapLane<K>::kCount; ++i) {
    if (part.holds() && rows.exists(position + part.row(i))) {
      to[i * TapLane<K>::kRowsAtOnce * rows.pitch] =
          from_float<Tap>(own[part.row(i) * K + part.tap]);
    }
  }
  __syncwarp();
}

template <class Tap, int K>
__global__ void __launch_bounds__(kBandThreads, 3)
    dynamic_backward_kernel(BandShape shape, TapForm form, DynamicBackwardArrays<Tap> arrays) {
  wait_for_work_before();
  extern __shared__ uint4 shared_memory[];
  const DynamicBackwardMemory memory(shape, shared_memory);
  const BandPlace place(shape);
  const int64_t sequence = int64_t{place.batch} * shape.time * shape.channels;
  const int channel = place.strip * kBandStrip;
  const BandRows dy{arrays.dy + sequence + channel, shape.channels, shape.time};
  const BandRows x{arrays.x + sequence + channel, shape.channels, shape.time};
  const TapRows<Tap> tap_rows(shape, place, arrays.taps, form.stride);
  Tap* dtaps = arrays.dtaps + (tap_rows.start - arrays.taps);
  const int before = K - 1 - shape.left;  // rows of dy ahead of the block's own
  const int dy_first = place.first - before;
  const int x_first = place.first - shape.left;
  const int warp_row = threadIdx.x / kLanes * kBandTile;
  const auto begin_step = [&](int step) {
    if (step < place.steps) {
      const int added = added_row(shape, step);
      copy_to_ring(shape, dy, dy_first + added, added % shape.ring, shape.chunk, memory.dy);
      copy_to_ring(shape, x, x_first + added, added % shape.ring, shape.chunk, memory.x);
    }
    end_copy_group();
  };
  // The taps of 16 rows, of those added by a step or ahead of all, to the ring.
  const auto put_ring_taps = [&](const WarpTaps<Tap, K>& given, int first_row) {
    put_taps<K>(given, tap_rows, dy_first + first_row, form.softmax, [&](int r) {
      return memory.taps + ring_row(shape, first_row % shape.ring + r) * K;
    });
  };
  copy_to_ring(shape, dy, dy_first, 0, shape.reach(), memory.dy);
  copy_to_ring(shape, x, x_first, 0, shape.reach(), memory.x);
  begin_step(0);
  WarpTaps<Tap, K> given;
  for (int row = warp_row; row < shape.reach(); row += shape.chunk) {
    given.load(tap_rows, dy_first + row);
    put_ring_taps(given, row);
  }
  __syncthreads();  // the last of these rows are also the step's
  given.load(tap_rows, dy_first + shape.reach() + warp_row);
  put_ring_taps(given, shape.reach() + warp_row);

  bf16* outputs = memory.outputs + warp_row * kBandStrip;
  for (int step = 0; step < place.steps; ++step) {
    wait_for_copy_groups<kDynamicAhead - 1>();
    __syncthreads();
    begin_step(step + 1);
    const int next = added_row(shape, step + 1) + warp_row;
    given.load(tap_rows, dy_first + next);
    const int start = step * shape.chunk % shape.ring;
    const int position = place.first + step * shape.chunk + warp_row;
    write_tap_gradients<Tap, K>(shape, memory, tap_rows, ring_row(shape, start + before) + warp_row,
                                start + warp_row, position, form.softmax, dtaps);
    BandTaps<band_blocks(K)> band;
    band.make([&](int r, int q) {
      const int j = K - 1 - (q - r);
      const int row = ring_row(shape, start + warp_row + q);
      return j >= 0 && j < K ? memory.taps[row * K + j] : 0.f;
    });
    BandSums sums = {};
    multiply_taps(shape, band, memory.dy, start + warp_row, sums);
    keep_sums(outputs, sums);
    __syncwarp();
    store_band_rows(outputs, 0, 1, [&](int r) {
      const int64_t at = position + r;
      return at < shape.time ? arrays.dx + sequence + at * shape.channels + channel : nullptr;
    });
    put_ring_taps(given, next);
  }
}

}  // namespace

bool band_dynamic_backward(const ConvShape& shape, const DynamicConvBackward& arrays,
                           cudaStream_t stream) {
  if (!fits_dynamic_band(shape)) return false;
  if (!is_aligned(arrays.x) || !is_aligned(arrays.dy) || !is_aligned(arrays.dx)) return false;
  const BandShape band = band_shape(shape, kBlockRows, kDynamicAhead);
  const unsigned blocks =
      grid_of(shape.batch * band.segments * band.strips, "dynamic_conv_backward");
  const size_t bytes = DynamicBackwardMemory::bytes(band);
  return with_type(arrays.taps.type, [&](auto type) {
    using Tap = decltype(type);
    return with_dynamic_kernel_size(shape.kernel, [&](auto size) {
      const auto kernel = dynamic_backward_kernel<Tap, size.value>;
      allow_shared_memory(kernel, bytes);
      launch_early(kernel, blocks, kBandThreads, bytes, stream, band, form_of(shape, arrays.taps),
                   {static_cast<const bf16*>(arrays.x), static_cast<const Tap*>(arrays.taps.values),
                    static_cast<const bf16*>(arrays.dy), static_cast<bf16*>(arrays.dx),
                    static_cast<Tap*>(arrays.dtaps)});
    });
  });
}

}  // namespace convseq::kernels
