#pragma once

#include "convseq/kernels/cuda/common.cuh"

// The tile of static convolutions, forward and backward. A block computes one sequence, one strip
// of 64 channels and some rows of time. It keeps all rows that its taps read in shared memory, in
// the type of the activations. A worker is a group of lanes that covers a strip with V channels per
// lane; it computes R outputs, `dilation` steps apart, from a window of rows that slides through
// registers. A dilated convolution is thus a plain one whose rows are further apart.
namespace convseq::kernels {

constexpr int kThreads = 256;
constexpr int kWarps = kThreads / kLanes;
constexpr int kStrip = 64;
constexpr size_t kTileBytes = 96 * 1024;  // at least two blocks per multiprocessor

struct TileShape {
  int time;
  int channels;
  int head_width;  // channels that share their taps
  int kernel;
  int dilation;
  int left;
  int rows;    // outputs of a block
  int tiles;   // blocks along time
  int strips;  // blocks along the channels

  __host__ __device__ int reach() const { return (kernel - 1) * dilation; }
};

struct BlockCoord {
  int batch;
  int tile;
  int first;    // position of the block's first output
  int channel;  // the strip's first
};

// Strips are innermost: blocks that run together read whole rows of memory.
__device__ inline BlockCoord block_coord(const TileShape& shape) {
  const int strip = blockIdx.x % shape.strips;
  const int tile = blockIdx.x / shape.strips % shape.tiles;
  const int batch = blockIdx.x / shape.strips / shape.tiles;
  return {batch, tile, tile * shape.rows, strip * kStrip};
}

// Rows of one sequence, of which only positions below `real` exist.
template <class T>
struct Rows {
  const T* start;  // the sequence's first value
  int pitch;       // values from one position to the next
  int real;
};

// The 16-byte piece of the tile's rows that a thread loads.
template <class T>
struct Piece {
  static constexpr int kValues = 16 / sizeof(T);
  static constexpr int kPerRow = kStrip / kValues;
  static constexpr int kRowStep = kThreads / kPerRow;
  int column = threadIdx.x % kPerRow * kValues;
  int row = threadIdx.x / kPerRow;
};

// Copies position first + i to tile row i, zeros where there is none. Asynchronous: call
// cp_async_wait_all().
template <int kPitch = kStrip, class T>
__device__ void fill_plain(T* tile, int count, const Rows<T>& rows, int first, int channel,
                           int channels) {
  const Piece<T> piece;
  const bool in_strip = channel + piece.column < channels;
  for (int i = piece.row; i < count; i += Piece<T>::kRowStep) {
    const int position = first + i;
    const bool real = in_strip && position >= 0 && position < rows.real;
    const T* from =
        rows.start + (real ? int64_t{position} * rows.pitch + channel + piece.column : 0);
    cp_async_16(tile + i * kPitch + piece.column, from, real);
  }
}

// The same for the gated value: the first half of each row times the sigmoid of its second.
template <class T>
__device__ void fill_gated(T* tile, int count, const Rows<T>& rows, int first, int channel,
                           int channels) {
  constexpr int kPrefetch = 4;  // loads in flight before the first is used
  constexpr int N = Piece<T>::kValues;
  const Piece<T> piece;
  const bool in_strip = channel + piece.column < channels;
  for (int base = piece.row; base < count; base += kPrefetch * Piece<T>::kRowStep) {
    Pack<T, N> value[kPrefetch], gate[kPrefetch];
#pragma unroll
    for (int n = 0; n < kPrefetch; ++n) {
      const int position = first + base + n * Piece<T>::kRowStep;
      value[n] = gate[n] = Pack<T, N>{};
      if (in_strip && position >= 0 && position < rows.real &&
          base + n * Piece<T>::kRowStep < count) {
        const T* from = rows.start + int64_t{position} * rows.pitch + channel + piece.column;
        value[n] = load_pack<T, N>(from);
        gate[n] = load_pack<T, N>(from + channels);
      }
    }
#pragma unroll
    for (int n = 0; n < kPrefetch; ++n) {
      const int i = base + n * Piece<T>::kRowStep;
      if (i >= count) break;
      float a[N], g[N];
      unpack(value[n], a);
      unpack(gate[n], g);
#pragma unroll
      for (int v = 0; v < N; ++v) a[v] *= sigmoid(g[v]);
      store_values(tile + i * kStrip + piece.column, a);
    }
  }
}

// The outputs of a worker: V channels per lane, R positions `dilation` apart.
template <int V, int R>
struct Worker {
  static constexpr int kLanesPerRow = kStrip / V;
  static constexpr int kCount = kThreads / kLanesPerRow;
  int column = threadIdx.x % kLanesPerRow * V;
  int index = threadIdx.x / kLanesPerRow;

  // Tasks of a tile: each R · dilation outputs are `dilation` interleaved runs of R.
  __device__ static int tasks(const TileShape& shape) {
    return ceil_div(shape.rows, R * shape.dilation) * shape.dilation;
  }
  __device__ static int first_row(const TileShape& shape, int task) {
    return shape.dilation == 1 ? task * R
                               : task / shape.dilation * R * shape.dilation + task % shape.dilation;
  }
};

// The taps of a lane's channels: one set where the whole strip belongs to one head.
template <bool kShared, int V, int K>
struct LaneTaps {
  float values[kShared ? 1 : V][K];

  __device__ float at(int v, int j) const { return values[kShared ? 0 : v][j]; }
  __device__ float& at(int v, int j) { return values[kShared ? 0 : v][j]; }

  // K taps from `first` on, `step` apart (−1: backwards).
  __device__ void load(const float* taps, const TileShape& shape, int channel, int first,
                       int step) {
#pragma unroll
    for (int v = 0; v < (kShared ? 1 : V); ++v) {
      const int head = min(channel + v, shape.channels - 1) / shape.head_width;
#pragma unroll
      for (int j = 0; j < K; ++j) values[v][j] = taps[head * shape.kernel + first + j * step];
    }
  }
};

// Slides R + K − 1 rows past R outputs: use(r, j, row) where row is tap j of output r.
template <int K, int R, int V, class T, class Use>
__device__ void slide(const T* row, int stride, Use use) {
#pragma unroll
  for (int m = 0; m < R + K - 1; ++m) {
    float values[V];
    load_values(row + m * stride, values);
#pragma unroll
    for (int r = 0; r < R; ++r) {
      if (m - r >= 0 && m - r < K) use(r, m - r, values);
    }
  }
}

template <int K, bool kShared, int V, int R, class T>
__device__ void add_window(const T* row, int stride, const LaneTaps<kShared, V, K>& taps,
                           float (&sums)[R][V]) {
  slide<K, R, V>(row, stride, [&](int r, int j, const float(&values)[V]) {
#pragma unroll
    for (int v = 0; v < V; ++v) sums[r][v] += taps.at(v, j) * values[v];
  });
}

// Cuts the taps of a kernel size that is not known at compile time into pieces of sizes that are:
// use(constant<N>, first tap).
template <class Use>
__device__ void for_tap_pieces(int kernel, Use use) {
  int j = 0;
  for (; j + 8 <= kernel; j += 8) use(std::integral_constant<int, 8>{}, j);
  if (kernel & 4) use(std::integral_constant<int, 4>{}, j), j += 4;
  if (kernel & 2) use(std::integral_constant<int, 2>{}, j), j += 2;
  if (kernel & 1) use(std::integral_constant<int, 1>{}, j);
}

// sums[r] += the taps times the rows from `row` on; taps backwards where `step` is −1.
template <bool kShared, int V, int R, class T>
__device__ void add_any_window(const T* row, int stride, const float* taps, const TileShape& shape,
                               int channel, int step, float (&sums)[R][V]) {
  for_tap_pieces(shape.kernel, [&](auto size, int j) {
    LaneTaps<kShared, V, size.value> piece;
    piece.load(taps, shape, channel, step > 0 ? j : shape.kernel - 1 - j, step);
    add_window<size.value, kShared>(row + j * stride, stride, piece, sums);
  });
}

// Calls use(constant<k>) for the kernel size with specialised code, else use(constant<0>). Most
// bf16 shapes run on the tensor cores instead.
template <class T, class Use>
auto with_kernel_size(int64_t kernel, Use use) {
  if constexpr (std::is_same_v<T, float>) {
    if (kernel == 7) return use(std::integral_constant<int, 7>{});
  }
  return use(std::integral_constant<int, 0>{});
}

// Tiles of about `rows` outputs in bf16, half of that in fp32, cut evenly, each a whole number of
// tasks.
inline TileShape tile_shape(const ConvShape& shape, int rows, int run) {
  const int most = shape.type == Type::Bf16 ? rows : rows / 2;
  const int wanted = rows_per_block(shape, ceil_div<int64_t>(shape.channels, kStrip), most, 64);
  TileShape tile{};
  tile.time = static_cast<int>(shape.time);
  tile.channels = static_cast<int>(shape.channels);
  tile.head_width = static_cast<int>(shape.channels / shape.heads);
  tile.kernel = static_cast<int>(shape.kernel);
  tile.dilation = static_cast<int>(shape.dilation);
  tile.left = static_cast<int>(shape.left);
  const int step = run * tile.dilation;
  const int even = ceil_div(tile.time, ceil_div(tile.time, wanted));
  tile.rows = ceil_div(even, step) * step;
  tile.tiles = ceil_div(tile.time, tile.rows);
  tile.strips = ceil_div(tile.channels, kStrip);
  return tile;
}

inline size_t tile_bytes(const ConvShape& shape, const TileShape& tile) {
  const size_t value = shape.type == Type::Bf16 ? 2 : 4;
  return static_cast<size_t>(tile.rows + tile.reach()) * kStrip * value;
}

// Whether each strip lies within one head.
inline bool shares_taps(const ConvShape& shape) {
  return shape.channels / shape.heads % kStrip == 0;
}

// Whether rows divide into 16-byte pieces.
inline bool has_pieces(const ConvShape& shape) {
  return shape.channels % (shape.type == Type::Bf16 ? 8 : 4) == 0;
}

}  // namespace convseq::kernels
