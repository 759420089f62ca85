#include "convseq/kernels/cuda/attention/attention_paths.h"
#include "convseq/kernels/cuda/attention/int8_rows.cuh"

namespace convseq::kernels {
namespace {

constexpr int kThreads = 128;

// kRowLanes neighbouring lanes per row.
template <class T, int kRowLanes>
__global__ void __launch_bounds__(kThreads)
    quantize_rows_kernel(QuantizeShape shape, QuantizeRows arrays) {
  grid_dependency_wait();
  const int64_t thread = int64_t{blockIdx.x} * kThreads + threadIdx.x;
  const int64_t rows = shape.batch * shape.heads * shape.time, row = thread / kRowLanes;
  const int64_t read = row < rows ? row : rows - 1;  // all lanes take part in the row's maximum
  const int64_t time = read % shape.time, head = read / shape.time % shape.heads;
  const int64_t batch = read / shape.time / shape.heads;
  const int channel = thread % kRowLanes * kInt8Pack;
  float values[kInt8Pack];
  load_channels(static_cast<const T*>(arrays.x.data) + batch * arrays.x.batch +
                    head * arrays.x.head + time * arrays.x.time + channel,
                values);
  const Int8Channels quantized = quantize<kRowLanes>(values);
  if (row >= rows) return;
  *reinterpret_cast<uint4*>(arrays.quantized + row * kRowLanes * kInt8Pack + channel) =
      quantized.packed;
  if (channel == 0) arrays.scales[2 * row] = quantized.scale;
}

template <class T, int kChannels>
void launch_quantize(const QuantizeShape& shape, const QuantizeRows& arrays, cudaStream_t stream) {
  constexpr int kRowLanes = kChannels / kInt8Pack;
  const int64_t threads = shape.batch * shape.heads * shape.time * kRowLanes;
  launch_dependent(quantize_rows_kernel<T, kRowLanes>,
                   checked_grid(ceil_div<int64_t>(threads, kThreads), "quantize_rows"), kThreads, 0,
                   stream, shape, arrays);
}

}  // namespace

void quantize_rows_cuda(const QuantizeShape& shape, const QuantizeRows& arrays, Stream on) {
  check_quantize_rows(shape, arrays);
  if (shape.batch == 0 || shape.heads == 0 || shape.time == 0) return;
  const auto stream = static_cast<cudaStream_t>(on);
  with_type(shape.type, [&](auto type) {
    using T = decltype(type);
    with_head_channels(shape.channels, [&](auto channels) {
      launch_quantize<T, decltype(channels)::value>(shape, arrays, stream);
    });
  });
}

}  // namespace convseq::kernels
