#include "convseq/kernels/cuda/conv/conv_paths.h"
#include "convseq/kernels/cuda/conv/conv_tile.cuh"

namespace convseq::kernels {
namespace {

// V channels per lane, R outputs per task, kRows outputs per block.
template <int K>
struct ForwardWork {
  static constexpr int V = K == 0 ? 2 : 4;
  static constexpr int R = K == 0 ? 8 : 4;
  static constexpr int kRows = 256;
};

template <class T>
struct ForwardArrays {
  const T* x;
  const float* taps;
  const int64_t* lengths;
  T* y;
};

template <class T, bool kGlu, bool kShared, int K>
__global__ void __launch_bounds__(kThreads)
    conv_forward_kernel(TileShape shape, ForwardArrays<T> arrays) {
  constexpr int V = ForwardWork<K>::V;
  constexpr int R = ForwardWork<K>::R;
  extern __shared__ uint4 shared_memory[];
  T* tile = reinterpret_cast<T*>(shared_memory);
  const BlockCoord coord = block_coord(shape);

  const int pitch = shape.channels * (kGlu ? 2 : 1);
  const int64_t sequence = int64_t{coord.batch} * shape.time;
  const Rows<T> rows{arrays.x + sequence * pitch, pitch,
                     real_length(arrays.lengths, coord.batch, shape.time)};
  const int count = shape.rows + shape.reach();
  const int first = coord.first - shape.left;
  if constexpr (kGlu) {
    fill_gated(tile, count, rows, first, coord.channel, shape.channels);
  } else {
    fill_plain(tile, count, rows, first, coord.channel, shape.channels);
  }
  const Worker<V, R> worker;
  const int channel = coord.channel + worker.column;
  LaneTaps<kShared, V, K == 0 ? 1 : K> taps;
  if constexpr (K > 0) taps.load(arrays.taps, shape, channel, 0, 1);
  cp_async_wait_all();
  __syncthreads();

  if (channel >= shape.channels) return;
  const int stride = shape.dilation * kStrip;
  const int tasks = worker.tasks(shape);
  for (int task = worker.index; task < tasks; task += worker.kCount) {
    const int row = worker.first_row(shape, task);
    const T* window = tile + row * kStrip + worker.column;
    float sums[R][V] = {};
    if constexpr (K > 0) {
      add_window<K, kShared>(window, stride, taps, sums);
    } else {
      add_any_window<kShared>(window, stride, arrays.taps, shape, channel, 1, sums);
    }
    T* y = arrays.y + (sequence + coord.first + row) * shape.channels + channel;
#pragma unroll
    for (int r = 0; r < R; ++r) {
      const int position = coord.first + row + r * shape.dilation;
      if (position < shape.time) {
        store_values(y + int64_t{r} * shape.dilation * shape.channels, sums[r]);
      }
    }
  }
}

// False where the tile does not fit: the taps reach too far.
template <class T, bool kGlu, bool kShared, int K>
bool launch_forward(const ConvShape& shape, const ConvForward& arrays, cudaStream_t stream) {
  const TileShape tile = tile_shape(shape, ForwardWork<K>::kRows, ForwardWork<K>::R);
  const auto kernel = conv_forward_kernel<T, kGlu, kShared, K>;
  const size_t bytes = tile_bytes(shape, tile);
  if (bytes > kTileBytes) return false;
  allow_shared_memory(kernel, bytes);
  const unsigned blocks = checked_grid(shape.batch * tile.tiles * tile.strips, "conv_forward");
  kernel<<<blocks, kThreads, bytes, stream>>>(tile, {static_cast<const T*>(arrays.x), arrays.taps,
                                                     arrays.lengths, static_cast<T*>(arrays.y)});
  return true;
}

}  // namespace

bool tile_forward(const ConvShape& shape, const ConvForward& arrays, cudaStream_t stream) {
  if (!has_pieces(shape) || !is_aligned(arrays.x) || !is_aligned(arrays.y)) return false;
  return with_type(shape.type, [&](auto type) {
    using T = decltype(type);
    return with_bool(shape.glu, [&](auto glu) {
      return with_bool(shares_taps(shape), [&](auto shared) {
        return with_kernel_size<T>(shape.kernel, [&](auto kernel) {
          return launch_forward<T, glu.value, shared.value, kernel.value>(shape, arrays, stream);
        });
      });
    });
  });
}

}  // namespace convseq::kernels
