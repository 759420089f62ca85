#include "kernels/conv_tile.cuh"
#include "kernels/dynamic_conv_direct.cuh"
#include "kernels/tensor_core.cuh"

// Dynamic convolutions of bf16 activations whose heads are one strip (64 channels) wide; all else
// goes to the direct kernels. A block owns one sequence, one head and some rows of time; its taps
// are softmaxed once, into shared memory.
namespace convseq::kernels {
namespace {

#ifndef TUNE_DYNAMIC_ROWS
#define TUNE_DYNAMIC_ROWS 128
#endif
#ifndef TUNE_DYNAMIC_BACKWARD_ROWS
#define TUNE_DYNAMIC_BACKWARD_ROWS 64
#endif

constexpr int V = 4;                // channels a lane
constexpr int R = 8;                // outputs of a task
constexpr int kPitch = kStrip + 8;  // of the tiles: eight rows' same columns lie in distinct banks
constexpr int kForwardRows = TUNE_DYNAMIC_ROWS;
constexpr int kBackwardRows = TUNE_DYNAMIC_BACKWARD_ROWS;

// Taps lie by the row of the window they multiply: that of window row m and output r at
// (task + m) · kTapPitch + kTapStart + K − 1 − m + r. Four neighbouring outputs so are 16 bytes, on
// a boundary of 16 since kTapPitch mod 4 is 1 and tasks begin at multiples of 4.
template <int K>
struct TapLayout {
  static constexpr int kTapPitch = (K + 2) / 4 * 4 + 1;
  static constexpr int kTapStart = (4 - (K - 1) % 4) % 4;
  static constexpr int floats(int rows) {
    return ceil_div(rows * kTapPitch + kTapStart + R, 4) * 4;
  }
};

template <int K>
__device__ void add_dynamic_window(const bf16* row, const float* taps, float (&sums)[R][V]) {
  using Layout = TapLayout<K>;
#pragma unroll
  for (int m = 0; m < R + K - 1; ++m) {
    float values[V];
    load_values(row + m * kPitch, values);
#pragma unroll
    for (int first = 0; first < R; first += 4) {
      if (m - first - 3 >= K || m - first < 0) continue;  // no tap of these four
      float four[4];
      load_values(taps + m * (Layout::kTapPitch - 1) + Layout::kTapStart + K - 1 + first, four);
#pragma unroll
      for (int r = first; r < first + 4; ++r) {
        if (m - r < 0 || m - r >= K) continue;
#pragma unroll
        for (int v = 0; v < V; ++v) sums[r][v] += four[r - first] * values[v];
      }
    }
  }
}

template <class Tap>
struct TapRows {
  const Tap* start;  // of position 0, this head
  int pitch;
  int time;
};

// Copies the taps of `count` positions from `first` on to [count, K], in fp32; zero where there is
// no such position.
template <int K, class Tap>
__device__ void load_taps(const TapRows<Tap>& taps, int first, int count, float* to) {
  for (int n = threadIdx.x; n < count * K; n += kThreads) {
    const int position = first + n / K;
    const bool real = position >= 0 && position < taps.time;
    to[n] = real ? to_float(taps.start[int64_t{position} * taps.pitch + n % K]) : 0.f;
  }
}

template <int K>
__device__ void softmax(float (&values)[K]) {
  float most = values[0], sum = 0;
#pragma unroll
  for (int j = 1; j < K; ++j) most = fmaxf(most, values[j]);
#pragma unroll
  for (int j = 0; j < K; ++j) sum += values[j] = __expf(values[j] - most);
  const float scale = 1.f / sum;
#pragma unroll
  for (int j = 0; j < K; ++j) values[j] *= scale;
}

template <class Tap>
__device__ TapRows<Tap> tap_rows(const TileShape& shape, const BlockPlace& place,
                                 const Tap* values) {
  const int heads = shape.strips;
  const int head = place.channel / kStrip;
  const int64_t sequence = int64_t{place.batch} * shape.time;
  return {values + (sequence * heads + head) * shape.kernel, heads * shape.kernel, shape.time};
}

template <class Use>
__device__ void store_rows(const TileShape& shape, const BlockPlace& place, bf16* to, Use make) {
  const Worker<V, R> worker;
  for (int task = worker.index; task * R < shape.rows; task += worker.kCount) {
    float sums[R][V] = {};
    make(task * R, worker.column, sums);
#pragma unroll
    for (int r = 0; r < R; ++r) {
      const int position = place.first + task * R + r;
      if (position >= shape.time) break;
      const int64_t row = int64_t{place.batch} * shape.time + position;
      store_values(to + row * shape.channels + place.channel + worker.column, sums[r]);
    }
  }
}

template <class Tap, int K>
struct DynamicForwardMemory {
  static constexpr int kReached = kForwardRows + K - 1;
  bf16 x[kReached * kPitch];
  alignas(16) float taps[TapLayout<K>::floats(kReached)];  // first [kForwardRows, K] as given
};

template <class Tap, int K>
__global__ void __launch_bounds__(kThreads)
    dynamic_forward_kernel(TileShape shape, bool take_softmax, const bf16* x, const Tap* taps,
                           bf16* y) {
  using Memory = DynamicForwardMemory<Tap, K>;
  using Layout = TapLayout<K>;
  static_assert(kForwardRows <= kThreads);
  extern __shared__ uint4 shared_memory[];
  Memory& memory = *reinterpret_cast<Memory*>(shared_memory);
  const BlockPlace place = block_place(shape);
  const Rows<bf16> rows{x + int64_t{place.batch} * shape.time * shape.channels, shape.channels,
                        shape.time};
  fill_plain<kPitch>(memory.x, Memory::kReached, rows, place.first - shape.left, place.channel,
                     shape.channels);
  load_taps<K>(tap_rows(shape, place, taps), place.first, kForwardRows, memory.taps);
  __syncthreads();
  const int row = threadIdx.x;
  float own[K];
  if (row < kForwardRows) {
#pragma unroll
    for (int j = 0; j < K; ++j) own[j] = memory.taps[row * K + j];
    if (take_softmax) softmax(own);
  }
  __syncthreads();
  if (row < kForwardRows) {
#pragma unroll
    for (int j = 0; j < K; ++j) {
      memory.taps[(row + j) * Layout::kTapPitch + Layout::kTapStart + K - 1 - j] = own[j];
    }
  }
  wait_for_copies();
  __syncthreads();
  store_rows(shape, place, y, [&](int first, int column, float(&sums)[R][V]) {
    add_dynamic_window<K>(memory.x + first * kPitch + column,
                          memory.taps + first * Layout::kTapPitch, sums);
  });
}

template <int K>
struct DynamicBackwardMemory {
  static constexpr int kReached = kBackwardRows + K - 1;
  bf16 x[(kReached + 8) * kPitch];  // whole columns of the last product below
  bf16 dy[kReached * kPitch];
  alignas(16) float taps[TapLayout<K>::floats(kReached)];
  float products[kReached * K];  // first the taps as given
};

// products[i][j] = dy[i] · x[i − left + j] over the head's channels. Of dy · xᵀ the tensor cores
// make the tiles that hold a part of this band: their product is exact but for the order of sums.
template <int K>
__device__ void multiply_band(const bf16* x, const bf16* dy, float* products) {
  constexpr int kColumns = ceil_div(16 + K - 1, 8);  // tiles of 8 a run of 16 rows touches
  constexpr int kProducts = kBackwardRows / 16 * kColumns;
  const int lane = threadIdx.x % kLanes;
  for (int n = threadIdx.x / kLanes; n < kProducts; n += kWarps) {
    const int row = n / kColumns * 16;
    const int column = n % kColumns * 8;
    const bf16* a_row = dy + (row + lane % 16) * kPitch + lane / 16 * 8;
    const bf16* b_row = x + (row + column + lane % 8) * kPitch + lane / 8 * 8;
    float sums[4] = {};
#pragma unroll
    for (int c = 0; c < kStrip; c += 32) {
      unsigned a[4], b[4];
      load_matrices(b, b_row + c);
      load_matrices(a, a_row + c);
      multiply_add(sums, a, b[0], b[1]);
      load_matrices(a, a_row + c + 16);
      multiply_add(sums, a, b[2], b[3]);
    }
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int r = lane / 4 + i / 2 * 8;
      const int j = column + lane % 4 * 2 + i % 2 - r;
      if (j >= 0 && j < K) products[(row + r) * K + j] = sums[i];
    }
  }
}

// With p the softmax: p[j] · (d[j] − sum_l p[l] · d[l]).
template <int K>
__device__ void softmax_gradient(const float* taps, float* products) {
  float mean = 0;
#pragma unroll
  for (int j = 0; j < K; ++j) mean += taps[j] * products[j];
#pragma unroll
  for (int j = 0; j < K; ++j) products[j] = taps[j] * (products[j] - mean);
}

template <class Tap>
struct DynamicBackwardArrays {
  const bf16* x;
  const Tap* taps;
  const bf16* dy;
  bf16* dx;
  Tap* dtaps;
};

template <class Tap, int K>
__global__ void __launch_bounds__(kThreads)
    dynamic_backward_kernel(TileShape shape, bool take_softmax, DynamicBackwardArrays<Tap> arrays) {
  using Memory = DynamicBackwardMemory<K>;
  using Layout = TapLayout<K>;
  static_assert(kBackwardRows % 16 == 0);
  extern __shared__ uint4 shared_memory[];
  Memory& memory = *reinterpret_cast<Memory*>(shared_memory);
  const BlockPlace place = block_place(shape);
  const int64_t sequence = int64_t{place.batch} * shape.time * shape.channels;
  const int before = K - 1 - shape.left;  // rows of dy and taps ahead of the block's own
  fill_plain<kPitch>(memory.dy, Memory::kReached,
                     {arrays.dy + sequence, shape.channels, shape.time}, place.first - before,
                     place.channel, shape.channels);
  fill_plain<kPitch>(memory.x, Memory::kReached + 8,
                     {arrays.x + sequence, shape.channels, shape.time}, place.first - shape.left,
                     place.channel, shape.channels);
  const TapRows<Tap> taps = tap_rows(shape, place, arrays.taps);
  load_taps<K>(taps, place.first - before, Memory::kReached, memory.products);
  __syncthreads();
  for (int row = threadIdx.x; row < Memory::kReached; row += kThreads) {
    const int position = place.first - before + row;
    const bool real = position >= 0 && position < shape.time;
    float own[K];
#pragma unroll
    for (int j = 0; j < K; ++j) own[j] = memory.products[row * K + j];
    if (take_softmax && real) softmax(own);
#pragma unroll
    for (int j = 0; j < K; ++j) {
      memory.taps[row * Layout::kTapPitch + Layout::kTapStart + j] = own[j];
    }
  }
  wait_for_copies();
  __syncthreads();
  multiply_band<K>(memory.x, memory.dy + before * kPitch, memory.products);
  store_rows(shape, place, arrays.dx, [&](int first, int column, float(&sums)[R][V]) {
    add_dynamic_window<K>(memory.dy + first * kPitch + column,
                          memory.taps + first * Layout::kTapPitch, sums);
  });
  __syncthreads();
  if (take_softmax && threadIdx.x < kBackwardRows) {
    softmax_gradient<K>(
        memory.taps + (before + threadIdx.x) * Layout::kTapPitch + Layout::kTapStart,
        memory.products + threadIdx.x * K);
  }
  __syncthreads();
  const int own = min(kBackwardRows, shape.time - place.first);
  Tap* dtaps = arrays.dtaps + (taps.start - arrays.taps);
  for (int n = threadIdx.x; n < own * K; n += kThreads) {
    dtaps[int64_t{place.first + n / K} * taps.pitch + n % K] = from_float<Tap>(memory.products[n]);
  }
}

// Tiles here are always full: the layout of a block's memory is known to the compiler.
TileShape dynamic_tile(const ConvShape& shape, int rows) {
  TileShape tile = tile_shape(shape, rows, R);
  tile.rows = rows;
  tile.tiles = ceil_div(tile.time, rows);
  return tile;
}

bool fits(const ConvShape& shape) {
  return shape.type == Type::Bf16 && shape.channels == shape.heads * kStrip && shape.dilation == 1;
}

// Calls use(constant<k>) for a kernel size that has its own code; false for others.
template <class Use>
bool with_dynamic_kernel_size(int64_t kernel, Use use) {
  switch (kernel) {
    case 3:
      return use(std::integral_constant<int, 3>{}), true;
    case 7:
      return use(std::integral_constant<int, 7>{}), true;
    case 15:
      return use(std::integral_constant<int, 15>{}), true;
    case 31:
      return use(std::integral_constant<int, 31>{}), true;
    default:
      return false;
  }
}

bool tile_forward(const ConvShape& shape, const DynamicConvForward& arrays, cudaStream_t stream) {
  if (!fits(shape) || !is_aligned(arrays.x) || !is_aligned(arrays.y)) return false;
  const TileShape tile = dynamic_tile(shape, kForwardRows);
  const unsigned blocks = grid_of(shape.batch * tile.tiles * tile.strips, "dynamic_conv_forward");
  return with_type(arrays.taps.type, [&](auto type) {
    using Tap = decltype(type);
    return with_dynamic_kernel_size(shape.kernel, [&](auto size) {
      const auto kernel = dynamic_forward_kernel<Tap, size.value>;
      constexpr size_t kBytes = sizeof(DynamicForwardMemory<Tap, size.value>);
      allow_shared_memory(kernel, kBytes);
      kernel<<<blocks, kThreads, kBytes, stream>>>(
          tile, arrays.taps.softmax, static_cast<const bf16*>(arrays.x),
          static_cast<const Tap*>(arrays.taps.values), static_cast<bf16*>(arrays.y));
    });
  });
}

bool tile_backward(const ConvShape& shape, const DynamicConvBackward& arrays, cudaStream_t stream) {
  if (!fits(shape)) return false;
  if (!is_aligned(arrays.x) || !is_aligned(arrays.dy) || !is_aligned(arrays.dx)) return false;
  const TileShape tile = dynamic_tile(shape, kBackwardRows);
  const unsigned blocks = grid_of(shape.batch * tile.tiles * tile.strips, "dynamic_conv_backward");
  return with_type(arrays.taps.type, [&](auto type) {
    using Tap = decltype(type);
    return with_dynamic_kernel_size(shape.kernel, [&](auto size) {
      const auto kernel = dynamic_backward_kernel<Tap, size.value>;
      constexpr size_t kBytes = sizeof(DynamicBackwardMemory<size.value>);
      allow_shared_memory(kernel, kBytes);
      kernel<<<blocks, kThreads, kBytes, stream>>>(
          tile, arrays.taps.softmax,
          {static_cast<const bf16*>(arrays.x), static_cast<const Tap*>(arrays.taps.values),
           static_cast<const bf16*>(arrays.dy), static_cast<bf16*>(arrays.dx),
           static_cast<Tap*>(arrays.dtaps)});
    });
  });
}

}  // namespace

void dynamic_conv_forward_cuda(const ConvShape& shape, const DynamicConvForward& arrays,
                               Stream stream) {
  check_conv(shape, "dynamic_conv_forward");
  if (is_empty(shape)) return;
  const auto cuda_stream = static_cast<cudaStream_t>(stream);
  if (!tile_forward(shape, arrays, cuda_stream)) direct_dynamic_forward(shape, arrays, cuda_stream);
  check_launch("dynamic_conv_forward");
}

void dynamic_conv_backward_cuda(const ConvShape& shape, const DynamicConvBackward& arrays,
                                Stream stream) {
  check_conv(shape, "dynamic_conv_backward");
  if (is_empty(shape)) return;
  const auto cuda_stream = static_cast<cudaStream_t>(stream);
  if (!tile_backward(shape, arrays, cuda_stream)) {
    direct_dynamic_backward(shape, arrays, cuda_stream);
  }
  check_launch("dynamic_conv_backward");
}

}  // namespace convseq::kernels
