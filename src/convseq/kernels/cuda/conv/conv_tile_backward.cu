#include "convseq/kernels/cuda/conv/conv_paths.h"
#include "convseq/kernels/cuda/conv/conv_tile.cuh"
#include "convseq/kernels/cuda/conv/conv_tile_partials.cuh"

// The tile holds rows of dy: dx[s] = sum_j taps[j] · dy[s + left − j · dilation], and the same rows
// times the input at s give the gradient of the taps. So only dy is read beyond a block's own rows,
// and every input is gated once.
namespace convseq::kernels {
namespace {

// V channels per lane, R positions per task, kRows positions per block.
template <int K>
struct BackwardWork {
  static constexpr int V = 2;
  static constexpr int R = 8;
  static constexpr int kRows = 512;
};

template <class T>
struct BackwardArrays {
  const T* x;
  const float* taps;
  const int64_t* lengths;
  const T* dy;
  T* dx;
  float* partial;  // [slices, k, groups]
};

// The inputs at a task's own positions.
template <class T, bool kGlu, int V, int R>
struct OwnInputs {
  Pack<T, V> value[R];
  Pack<T, V> gate[kGlu ? R : 1];

  __device__ void load(const TileShape& shape, const Rows<T>& rows, int position, int channel) {
#pragma unroll
    for (int r = 0; r < R; ++r) {
      value[r] = {};
      if constexpr (kGlu) gate[r] = {};
      const int at = position + r * shape.dilation;
      if (at >= rows.real) continue;
      const T* from = rows.start + int64_t{at} * rows.pitch + channel;
      value[r] = load_pack<T, V>(from);
      if constexpr (kGlu) gate[r] = load_pack<T, V>(from + shape.channels);
    }
  }

  // The gated inputs of the convolution, and σ of the gates.
  __device__ void gated(float (&inputs)[R][V], float (&sigma)[kGlu ? R : 1][V]) const {
#pragma unroll
    for (int r = 0; r < R; ++r) {
      unpack(value[r], inputs[r]);
      if constexpr (kGlu) {
        unpack(gate[r], sigma[r]);
#pragma unroll
        for (int v = 0; v < V; ++v) {
          sigma[r][v] = sigmoid(sigma[r][v]);
          inputs[r][v] *= sigma[r][v];
        }
      }
    }
  }
};

// With u = a · σ(g): da = du · σ, dg = du · u · (1 − σ).
template <class T, bool kGlu, int V>
__device__ void store_gradient(T* dx, int channels, bool real, const float (&gradient)[V],
                               const float (&input)[V], const float (&sigma)[V]) {
  float of_value[V], of_gate[V];
#pragma unroll
  for (int v = 0; v < V; ++v) {
    of_value[v] = real ? (kGlu ? gradient[v] * sigma[v] : gradient[v]) : 0.f;
    if constexpr (kGlu) of_gate[v] = real ? gradient[v] * input[v] * (1.f - sigma[v]) : 0.f;
  }
  store_values(dx, of_value);
  if constexpr (kGlu) store_values(dx + channels, of_gate);
}

template <class T, bool kGlu, int V, int R>
__device__ void store_gradients(const TileShape& shape, const Rows<T>& rows, T* dx, int position,
                                int channel, const float (&gradients)[R][V],
                                const float (&inputs)[R][V],
                                const float (&sigma)[kGlu ? R : 1][V]) {
#pragma unroll
  for (int r = 0; r < R; ++r) {
    const int at = position + r * shape.dilation;
    if (at >= shape.time) continue;
    store_gradient<T, kGlu>(dx + int64_t{at} * rows.pitch + channel, shape.channels, at < rows.real,
                            gradients[r], inputs[r], sigma[kGlu ? r : 0]);
  }
}

// The common start of both kernels below: coordinates, rows, and the copy of the tile.
template <class T, bool kGlu, int V, int R>
struct BackwardBlock {
  using Work = Worker<V, R>;
  BlockCoord coord;
  Rows<T> x;
  T* dx;
  T* tile;
  Work worker;
  int channel;
  int stride;
  int tasks;

  __device__ BackwardBlock(const TileShape& shape, const BackwardArrays<T>& arrays, T* shared)
      : coord(block_coord(shape)), tile(shared) {
    const int64_t sequence = int64_t{coord.batch} * shape.time;
    const Rows<T> dy{arrays.dy + sequence * shape.channels, shape.channels, shape.time};
    fill_plain(tile, shape.rows + shape.reach(), dy, coord.first + shape.left - shape.reach(),
               coord.channel, shape.channels);
    const int pitch = shape.channels * (kGlu ? 2 : 1);
    x = {arrays.x + sequence * pitch, pitch, real_length(arrays.lengths, coord.batch, shape.time)};
    dx = arrays.dx + sequence * pitch;
    channel = coord.channel + worker.column;
    stride = shape.dilation * kStrip;
    tasks = channel < shape.channels ? Work::tasks(shape) : 0;
  }

  __device__ int position(const TileShape& shape, int task) const {
    return coord.first + Work::first_row(shape, task);
  }
  __device__ const T* window(const TileShape& shape, int task) const {
    return tile + Work::first_row(shape, task) * kStrip + worker.column;
  }
};

template <class T, bool kGlu, bool kShared, int K>
__global__ void __launch_bounds__(kThreads)
    conv_backward_kernel(TileShape shape, BackwardArrays<T> arrays) {
  constexpr int V = BackwardWork<K>::V;
  constexpr int R = BackwardWork<K>::R;
  extern __shared__ uint4 shared_memory[];
  const BackwardBlock<T, kGlu, V, R> block(shape, arrays, reinterpret_cast<T*>(shared_memory));
  LaneTaps<kShared, V, K> taps;
  LaneTaps<kShared, V, K> tap_gradient = {};
  taps.load(arrays.taps, shape, block.channel, K - 1, -1);

  OwnInputs<T, kGlu, V, R> own;
  int task = block.worker.index;
  if (task < block.tasks) own.load(shape, block.x, block.position(shape, task), block.channel);
  cp_async_wait_all();
  __syncthreads();
  while (task < block.tasks) {
    float inputs[R][V], sigma[kGlu ? R : 1][V];
    own.gated(inputs, sigma);
    const int next = task + block.worker.kCount;  // loaded while this one is computed
    if (next < block.tasks) own.load(shape, block.x, block.position(shape, next), block.channel);
    float gradients[R][V] = {};
    slide<K, R, V>(block.window(shape, task), block.stride, [&](int r, int j, const float(&dy)[V]) {
#pragma unroll
      for (int v = 0; v < V; ++v) {
        gradients[r][v] += taps.at(v, j) * dy[v];
        tap_gradient.at(v, j) += inputs[r][v] * dy[v];
      }
    });
    store_gradients<T, kGlu>(shape, block.x, block.dx, block.position(shape, task), block.channel,
                             gradients, inputs, sigma);
    task = next;
  }
  write_partials(tap_gradient, partial_coord<kShared>(shape, block.coord, arrays.partial));
}

// Any kernel size: first dx, then the gradients of a few taps at a time over all tasks.
template <class T, bool kGlu, bool kShared>
__global__ void __launch_bounds__(kThreads)
    conv_backward_any_kernel(TileShape shape, BackwardArrays<T> arrays) {
  constexpr int V = BackwardWork<0>::V;
  constexpr int R = BackwardWork<0>::R;
  extern __shared__ uint4 shared_memory[];
  const BackwardBlock<T, kGlu, V, R> block(shape, arrays, reinterpret_cast<T*>(shared_memory));
  cp_async_wait_all();
  __syncthreads();
  const auto for_tasks = [&](auto use) {
    for (int task = block.worker.index; task < block.tasks; task += block.worker.kCount) {
      OwnInputs<T, kGlu, V, R> own;
      own.load(shape, block.x, block.position(shape, task), block.channel);
      float inputs[R][V], sigma[kGlu ? R : 1][V];
      own.gated(inputs, sigma);
      use(task, inputs, sigma);
    }
  };
  for_tasks([&](int task, const auto& inputs, const auto& sigma) {
    float gradients[R][V] = {};
    add_any_window<kShared>(block.window(shape, task), block.stride, arrays.taps, shape,
                            block.channel, -1, gradients);
    store_gradients<T, kGlu>(shape, block.x, block.dx, block.position(shape, task), block.channel,
                             gradients, inputs, sigma);
  });
  for_tap_pieces(shape.kernel, [&](auto size, int j) {
    LaneTaps<kShared, V, size.value> gradient = {};
    for_tasks([&](int task, const auto& inputs, const auto&) {
      slide<size.value, R, V>(block.window(shape, task) + j * block.stride, block.stride,
                              [&](int r, int tap, const float(&dy)[V]) {
#pragma unroll
                                for (int v = 0; v < V; ++v) {
                                  gradient.at(v, tap) += inputs[r][v] * dy[v];
                                }
                              });
    });
    PartialCoord to = partial_coord<kShared>(shape, block.coord, arrays.partial);
    to.first_tap -= j;
    write_partials(gradient, to);
  });
}

template <int K>
TileShape backward_tile(const ConvShape& shape) {
  return tile_shape(shape, BackwardWork<K>::kRows, BackwardWork<K>::R);
}

int64_t slice_count(const ConvShape& shape, const TileShape& tile) {
  return shape.batch * tile.tiles;
}

int64_t group_count(const ConvShape& shape) {
  return shares_taps(shape) ? shape.channels / kStrip : shape.channels;
}

template <class T, bool kGlu, bool kShared, int K>
auto backward_kernel() {
  if constexpr (K == 0) {
    return conv_backward_any_kernel<T, kGlu, kShared>;
  } else {
    return conv_backward_kernel<T, kGlu, kShared, K>;
  }
}

// False where the tile does not fit: the taps reach too far.
template <class T, bool kGlu, bool kShared, int K>
bool launch_backward(const ConvShape& shape, const ConvBackward& arrays, cudaStream_t stream) {
  const TileShape tile = backward_tile<K>(shape);
  const size_t bytes = tile_bytes(shape, tile);
  if (bytes > kTileBytes) return false;
  const auto kernel = backward_kernel<T, kGlu, kShared, K>();
  allow_shared_memory(kernel, bytes);
  const unsigned blocks = checked_grid(shape.batch * tile.tiles * tile.strips, "conv_backward");
  auto* partial = static_cast<float*>(arrays.workspace);
  kernel<<<blocks, kThreads, bytes, stream>>>(
      tile, {static_cast<const T*>(arrays.x), arrays.taps, arrays.lengths,
             static_cast<const T*>(arrays.dy), static_cast<T*>(arrays.dx), partial});
  sum_tap_partials(shape, partial, slice_count(shape, tile), group_count(shape), arrays.dtaps,
                   stream);
  return true;
}

}  // namespace

bool tile_backward(const ConvShape& shape, const ConvBackward& arrays, cudaStream_t stream) {
  if (!has_pieces(shape)) return false;
  if (!is_aligned(arrays.x) || !is_aligned(arrays.dy) || !is_aligned(arrays.dx)) return false;
  return with_type(shape.type, [&](auto type) {
    using T = decltype(type);
    return with_bool(shape.glu, [&](auto glu) {
      return with_bool(shares_taps(shape), [&](auto shared) {
        return with_kernel_size<T>(shape.kernel, [&](auto kernel) {
          return launch_backward<T, glu.value, shared.value, kernel.value>(shape, arrays, stream);
        });
      });
    });
  });
}

size_t tile_backward_workspace(const ConvShape& shape) {
  const int64_t slices = with_type(shape.type, [&](auto type) {
    return with_kernel_size<decltype(type)>(shape.kernel, [&](auto kernel) {
      return slice_count(shape, backward_tile<kernel.value>(shape));
    });
  });
  return static_cast<size_t>(slices * shape.kernel * group_count(shape)) * sizeof(float);
}

}  // namespace convseq::kernels
