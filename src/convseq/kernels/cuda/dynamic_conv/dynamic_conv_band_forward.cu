#include "convseq/kernels/cuda/dynamic_conv/dynamic_conv_band.cuh"
#include "convseq/kernels/cuda/dynamic_conv/dynamic_conv_taps.cuh"

namespace convseq::kernels {
namespace {

constexpr int kBlockRows = 256;

struct DynamicForwardMemory {
  bf16* ring;
  bf16* outputs;  // [kBandWarps, 16]
  float* taps;    // [kBandWarps, 16, k]

  __device__ DynamicForwardMemory(const BandShape& shape, uint4* memory)
      : ring(reinterpret_cast<bf16*>(memory)),
        outputs(ring + shape.ring * kBandStrip),
        taps(reinterpret_cast<float*>(outputs + kBandWarps * kBandTile * kBandStrip)) {}

  static size_t bytes(const BandShape& shape) {
    const int rows = shape.ring + kBandWarps * kBandTile;
    return rows * kBandStrip * sizeof(bf16) + sizeof(float) * kBandWarps * kBandTile * shape.kernel;
  }
};

// Each warp computes the same 16 rows of every chunk, and loads their taps itself.
template <class Tap, int K>
__global__ void __launch_bounds__(kBandThreads, 4)
    dynamic_forward_kernel(BandShape shape, TapForm form, const bf16* x, const Tap* taps, bf16* y) {
  grid_dependency_wait();
  extern __shared__ uint4 shared_memory[];
  const DynamicForwardMemory memory(shape, shared_memory);
  const BandCoord coord(shape);
  const int64_t sequence = int64_t{coord.batch} * shape.time * shape.channels;
  const int channel = coord.strip * kBandStrip;
  const BandRows rows{x + sequence + channel, shape.channels, shape.time};
  const TapRows<Tap> tap_rows(shape, coord, taps, form.stride);
  const int warp_row = threadIdx.x / kLanes * kBandTile;
  const auto begin_step = [&](int step) {
    if (step < coord.steps) {
      const int added = added_row(shape, step);
      copy_to_ring(shape, rows, coord.first - shape.left + added, added % shape.ring, shape.chunk,
                   memory.ring);
    }
    cp_async_commit_group();
  };
  copy_to_ring(shape, rows, coord.first - shape.left, 0, shape.reach(), memory.ring);
  begin_step(0);
  WarpTaps<Tap, K> given;
  given.load(tap_rows, coord.first + warp_row);
  float* own_taps = memory.taps + warp_row * K;
  bf16* outputs = memory.outputs + warp_row * kBandStrip;
  for (int step = 0; step < coord.steps; ++step) {
    const int position = coord.first + step * shape.chunk + warp_row;
    store_taps<K>(given, tap_rows, position, form.softmax, [&](int r) { return own_taps + r * K; });
    BandTaps<band_blocks(K)> band;
    band.make(
        [&](int r, int q) { return q - r >= 0 && q - r < K ? own_taps[r * K + q - r] : 0.f; });
    cp_async_wait_group<kDynamicPrefetch - 1>();
    __syncthreads();
    begin_step(step + 1);
    given.load(tap_rows, position + shape.chunk);
    BandSums sums = {};
    matmul_taps(shape, band, memory.ring, step * shape.chunk % shape.ring + warp_row, sums);
    store_sums(outputs, sums);
    __syncwarp();
    store_band_rows(outputs, 0, 1, [&](int r) {
      const int64_t at = position + r;
      return at < shape.time ? y + sequence + at * shape.channels + channel : nullptr;
    });
  }
}

}  // namespace

bool band_dynamic_forward(const ConvShape& shape, const DynamicConvForward& arrays,
                          cudaStream_t stream) {
  if (!fits_dynamic_band(shape) || !is_aligned(arrays.x) || !is_aligned(arrays.y)) return false;
  const BandShape band = band_shape(shape, kBlockRows, kDynamicPrefetch);
  const unsigned blocks =
      checked_grid(shape.batch * band.segments * band.strips, "dynamic_conv_forward");
  const size_t bytes = DynamicForwardMemory::bytes(band);
  return with_type(arrays.taps.type, [&](auto type) {
    using Tap = decltype(type);
    return with_dynamic_kernel_size(shape.kernel, [&](auto size) {
      const auto kernel = dynamic_forward_kernel<Tap, size.value>;
      allow_shared_memory(kernel, bytes);
      launch_dependent(kernel, blocks, kBandThreads, bytes, stream, band,
                       form_of(shape, arrays.taps), static_cast<const bf16*>(arrays.x),
                       static_cast<const Tap*>(arrays.taps.values), static_cast<bf16*>(arrays.y));
    });
  });
}

}  // namespace convseq::kernels
