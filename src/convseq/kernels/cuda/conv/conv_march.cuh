#pragma once

#include "convseq/kernels/cuda/common.cuh"
#include "convseq/kernels/cuda/tensor_core.cuh"

// Static convolutions of bf16 activations by fp32 multiply-adds, for kernels so short that they are
// bound by the memory traffic. A thread owns some neighbouring channels, with their taps and the
// window of the last k rows in registers, and marches along a segment of a sequence. The rows ahead
// are in a ring buffer in shared memory of which every thread loads and reads its own part, so that
// no thread waits for another. With a dilation a segment takes every dilation-th position.
//
// The rows of a window rotate in its registers: a stage is k rows, unrolled, after which every row
// is in its register again. Stage 0 fills all of the window but its last row.
namespace convseq::kernels {

constexpr int kMarchMaxKernel = 9;

// What a thread and a block do: channels per thread, warps, stages of the ring buffer, blocks per
// multiprocessor, and rows of the longest segment.
template <int kChannels_, int kWarps_, int kStages_, int kBlocksAtOnce_, int kMostRows_ = 128>
struct MarchWork {
  static constexpr int kChannels = kChannels_;
  static constexpr int kBytes = kChannels * sizeof(bf16);  // of a thread's vector of one row
  static constexpr int kStrip = kChannels * kLanes;        // channels of a warp
  static constexpr int kWarps = kWarps_;
  static constexpr int kThreads = kWarps * kLanes;
  static constexpr int kStages = kStages_;
  static constexpr int kBlocksAtOnce = kBlocksAtOnce_;
  static constexpr int kMostRows = kMostRows_;
};

struct MarchShape {
  int time;
  int channels;
  int head_width;
  int kernel;
  int dilation;
  int left;
  int rows;      // outputs of a segment
  int segments;  // along the time of one phase of the dilation
  int marches;   // segments of all phases and sequences: one per warp
  int groups;    // of marches: one per block
  int strips;
};

// What a thread computes.
template <class Work>
struct March {
  int batch = 0;
  int first = 0;  // position of the first output
  int rows = 0;   // outputs; none where the segment or the channels do not exist
  int channel;    // the first of the thread's channels

  __device__ explicit March(const MarchShape& shape)
      : channel(blockIdx.x % shape.strips * Work::kStrip +
                static_cast<int>(threadIdx.x) % kLanes * Work::kChannels) {
    const int march = static_cast<int>(blockIdx.x) / shape.strips * Work::kWarps +
                      static_cast<int>(threadIdx.x) / kLanes;
    if (march >= shape.marches || channel >= shape.channels) return;
    const int segment = march / shape.dilation;
    batch = segment / shape.segments;
    first = segment % shape.segments * shape.rows * shape.dilation + march % shape.dilation;
    rows = max(0, min(shape.rows, ceil_div(shape.time - first, shape.dilation)));
  }
};

// A thread's vectors of one array, one per row. Row 0 is at position `first`, which may not exist.
struct MarchRows {
  const bf16* start;  // of the thread's channels at row 0
  int64_t pitch;      // values from one row to the next
  int from;           // the rows that exist
  int count;

  // `rows` rows of a sequence with `real` positions, which are `stride` values apart.
  __device__ MarchRows(const bf16* sequence, int stride, int dilation, int first, int rows,
                       int real)
      : start(sequence + int64_t{first} * stride), pitch(int64_t{stride} * dilation) {
    from = first < 0 ? ceil_div(-first, dilation) : 0;
    count = max(0, min(rows, real > first ? ceil_div(real - first, dilation) : 0) - from);
  }

  __device__ bool exists(int row) const {
    return static_cast<unsigned>(row - from) < static_cast<unsigned>(count);
  }
};

// The ring buffer: kArrays vectors per row and thread.
template <class Work, int kKernel, int kArrays>
struct MarchRing {
  static constexpr int kRowBytes = Work::kThreads * Work::kBytes;
  static constexpr int kStageBytes = kKernel * kArrays * kRowBytes;
  static constexpr int kBytes = Work::kStages * kStageBytes;
  char* start;     // of the thread's part
  int loaded = 0;  // byte offsets of the stages to load and to read next
  int read = 0;

  __device__ explicit MarchRing(uint4* memory)
      : start(reinterpret_cast<char*>(memory) + threadIdx.x * Work::kBytes) {}

  __device__ static void advance(int& stage) {
    stage = stage == (Work::kStages - 1) * kStageBytes ? 0 : stage + kStageBytes;
  }

  // Loads rows `row` to `row` + k − 1 of an array. Rows that do not exist are zeros.
  __device__ void load(int array, const MarchRows& rows, int row) const {
    const bf16* from = rows.start + row * rows.pitch;
#pragma unroll
    for (int r = 0; r < kKernel; ++r) {
      cp_async<Work::kBytes>(start + loaded + (r * kArrays + array) * kRowBytes, from,
                             rows.exists(row + r));
      from += rows.pitch;
    }
  }

  __device__ void commit() {
    cp_async_commit_group();
    advance(loaded);
  }

  __device__ void values(int array, int r, float (&to)[Work::kChannels]) const {
    unpack(load_pack<bf16, Work::kChannels>(
               reinterpret_cast<const bf16*>(start + read + (r * kArrays + array) * kRowBytes)),
           to);
  }
};

// Begins to load the first stages by load(stage).
template <class Work, class Ring, class Load>
__device__ void prefetch(Ring& ring, Load load) {
#pragma unroll 1
  for (int stage = 0; stage < Work::kStages - 1; ++stage) {
    load(stage);
    ring.commit();
  }
}

// Loads the stages that follow, some of them past the last one, and calls fill() for stage 0 and
// compute(row) for the others, where `row` is the first output of a stage.
template <class Work, int kKernel, class Ring, class Load, class Fill, class Compute>
__device__ void march(Ring& ring, int rows, Load load, Fill fill, Compute compute) {
#pragma unroll 1
  for (int stage = 0; stage == 0 || (stage - 1) * kKernel < rows; ++stage) {
    cp_async_wait_group<Work::kStages - 2>();
    load(stage + Work::kStages - 1);  // replaces the rows that the thread has just computed with
    ring.commit();
    if (stage == 0) {
      fill();
    } else {
      compute((stage - 1) * kKernel);
    }
    ring.advance(ring.read);
  }
  cp_async_wait_all();
}

// Calls use(q, register) for the window's rows q from the oldest on, after row r of a stage.
template <int kKernel, class Use>
__device__ void for_window(int r, Use use) {
#pragma unroll
  for (int q = 0; q < kKernel; ++q) use(q, (r + q) % kKernel);
}

// The register of a window that takes row r of a stage.
template <int kKernel>
__device__ constexpr int newest(int r) {
  return (r + kKernel - 1) % kKernel;
}

// A thread's taps, by their place in the window. Those past the kernel are zero. They pass through
// shared memory, where a block's strip of them is [k, kPitch].
template <class Work, int kKernel>
struct MarchTaps {
  static constexpr int kPitch = Work::kStrip + 4;  // distinct banks for the taps of a channel
  static constexpr size_t kBytes = sizeof(float) * kKernel * kPitch;
  float values[kKernel][Work::kChannels];

  __device__ MarchTaps(const MarchShape& shape, const float* taps, bool reversed, float* memory) {
    const int strip = blockIdx.x % shape.strips * Work::kStrip;
    constexpr int kEntries = kKernel * Work::kStrip;
#pragma unroll
    for (int n = 0; n < ceil_div(kEntries, Work::kThreads); ++n) {
      const int i = n * Work::kThreads + static_cast<int>(threadIdx.x);
      if (kEntries % Work::kThreads != 0 && i >= kEntries) break;
      const int q = i % kKernel, channel = strip + i / kKernel;
      const int tap = reversed ? kKernel - 1 - q : q;
      const int head = shape.head_width == 1 ? channel : channel / shape.head_width;
      const bool exists = tap < shape.kernel && channel < shape.channels;
      const float value = taps[exists ? head * shape.kernel + tap : 0];  // without a branch
      memory[q * kPitch + i / kKernel] = exists ? value : 0.f;
    }
    __syncthreads();
#pragma unroll
    for (int q = 0; q < kKernel; ++q) {
      load_values(memory + q * kPitch + threadIdx.x % kLanes * Work::kChannels, values[q]);
    }
  }
};

// The shared memory of a block: the ring buffer, then the taps.
template <class Work, int kKernel, int kArrays>
struct MarchMemory {
  using Ring = MarchRing<Work, kKernel, kArrays>;
  using Taps = MarchTaps<Work, kKernel>;
  static constexpr size_t kBytes = Ring::kBytes + Taps::kBytes;

  __device__ static float* taps(uint4* memory) {
    return reinterpret_cast<float*>(reinterpret_cast<char*>(memory) + Ring::kBytes);
  }
};

// Stores where `exists`, without a branch, so that the rows of a stage overlap; zeros where not
// `real`.
template <int N>
__device__ void store_bf16(bf16* to, const float (&values)[N], bool exists, bool real) {
  static_assert(N == 4 || N == 8);
  unsigned words[N / 2];
#pragma unroll
  for (int i = 0; i < N / 2; ++i) {
    const unsigned pair = pack_pair(values[i * 2], values[i * 2 + 1]);
    words[i] = real ? pair : 0;
  }
  if constexpr (N == 4) {
    asm volatile(
        "{.reg .pred exists; setp.ne.b32 exists, %3, 0; @exists st.global.v2.b32 [%0], {%1, "
        "%2};}" ::"l"(to),
        "r"(words[0]), "r"(words[1]), "r"(static_cast<int>(exists)));
  } else {
    asm volatile(
        "{.reg .pred exists; setp.ne.b32 exists, %5, 0; "
        "@exists st.global.v4.b32 [%0], {%1, %2, %3, %4};}" ::"l"(to),
        "r"(words[0]), "r"(words[1]), "r"(words[2]), "r"(words[3]), "r"(static_cast<int>(exists)));
  }
}

// Calls use(constant<taps of the window>).
template <class Use>
auto with_march_kernel(int64_t kernel, Use use) {
  if (kernel <= 3) return use(std::integral_constant<int, 3>{});
  if (kernel <= 5) return use(std::integral_constant<int, 5>{});
  if (kernel <= 7) return use(std::integral_constant<int, 7>{});
  return use(std::integral_constant<int, 9>{});
}

// Segments as long as they can be while the warps fill the GPU.
template <class Work>
MarchShape march_shape(const ConvShape& shape, const char* op) {
  constexpr int64_t kLeastRows = 16, kEnoughWarps = 1152;
  const int64_t strips = ceil_div<int64_t>(shape.channels, Work::kStrip);
  const int64_t length = ceil_div(shape.time, shape.dilation);
  const int64_t sequences = shape.batch * shape.dilation;
  int64_t rows = Work::kMostRows;
  while (rows > kLeastRows && sequences * ceil_div(length, rows) * strips < kEnoughWarps) rows /= 2;
  const int64_t segments = ceil_div(length, rows);
  const int64_t marches = sequences * segments;
  const int64_t groups = ceil_div<int64_t>(marches, Work::kWarps);
  checked_grid(groups * strips * Work::kWarps, op);
  return {.time = static_cast<int>(shape.time),
          .channels = static_cast<int>(shape.channels),
          .head_width = static_cast<int>(shape.channels / shape.heads),
          .kernel = static_cast<int>(shape.kernel),
          .dilation = static_cast<int>(shape.dilation),
          .left = static_cast<int>(shape.left),
          .rows = static_cast<int>(ceil_div(length, segments)),
          .segments = static_cast<int>(segments),
          .marches = static_cast<int>(marches),
          .groups = static_cast<int>(groups),
          .strips = static_cast<int>(strips)};
}

inline bool fits_march(const ConvShape& shape) {
  return shape.type == Type::Bf16 && shape.channels % 8 == 0 && shape.kernel <= kMarchMaxKernel;
}

}  // namespace convseq::kernels
