#include "convseq/bench/cpu/conv_kernel_speed.h"

#include <algorithm>
#include <chrono>
#include <cstring>

#include "convseq/kernels/conv.h"
#include "convseq/runtime/row_work.h"

namespace convseq::bench {
namespace {

constexpr kernels::ConvShape kShape{
    .batch = 32, .time = 512, .channels = 768, .heads = 12, .kernel = 7, .left = 3};
constexpr int64_t kSequence = kShape.time * kShape.channels, kValues = kShape.batch * kSequence;

Buffer filled(int64_t count, float value) {
  Buffer buffer;
  buffer.reserve_floats(count);
  std::fill_n(buffer.floats(), count, value);
  return buffer;
}

class Kernels {
 public:
  explicit Kernels(int64_t threads) : pool_(threads) {}

  void copy() {
    for_sequences([&](int64_t begin, int64_t count) {
      std::memcpy(y_.floats() + begin * kSequence, x_.floats() + begin * kSequence,
                  static_cast<size_t>(count * kSequence) * sizeof(float));
    });
  }

  void convolve(bool glu) {
    for_sequences([&](int64_t begin, int64_t count) {
      kernels::ConvShape shape = kShape;
      shape.batch = count;
      shape.glu = glu;
      const float* x = x_.floats() + begin * kSequence * (glu ? 2 : 1);
      conv_forward_cpu(shape,
                       {.x = x, .taps = taps_.floats(), .y = y_.floats() + begin * kSequence}, {});
    });
  }

 private:
  // body(first sequence, number of them), once per thread.
  template <class Body>
  void for_sequences(const Body& body) {
    const int64_t parts = std::min(pool_.threads(), kShape.batch);
    pool_.run(parts, [&](int64_t part, int64_t) {
      const int64_t begin = kShape.batch * part / parts;
      body(begin, kShape.batch * (part + 1) / parts - begin);
    });
  }

  ThreadPool pool_;
  Buffer x_ = filled(2 * kValues, 0.5F), y_ = filled(kValues, 0);
  Buffer taps_ = filled(kShape.heads * kShape.kernel, 0.1F);
};

// GB/s of one call that reads `inputs` values per output.
template <class Call>
double gigabytes_per_second(int64_t inputs, const Call& call) {
  const auto start = std::chrono::steady_clock::now();
  call();
  const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
  return 1e-9 * static_cast<double>((inputs + 1) * kValues) * sizeof(float) / time.count();
}

}  // namespace

ConvKernelSpeed measure_conv_kernels(int64_t threads, double seconds) {
  Kernels kernels(threads);
  ConvKernelSpeed best;
  const auto keep = [](double& value, double found) { value = std::max(value, found); };
  for (const auto start = std::chrono::steady_clock::now();;) {
    keep(best.copy, gigabytes_per_second(1, [&] { kernels.copy(); }));
    keep(best.light, gigabytes_per_second(1, [&] { kernels.convolve(/*glu=*/false); }));
    keep(best.light_glu, gigabytes_per_second(2, [&] { kernels.convolve(/*glu=*/true); }));
    if (std::chrono::steady_clock::now() - start > std::chrono::duration<double>(seconds)) break;
  }
  return best;
}

std::vector<Row> rows_of(const ConvKernelSpeed& speed) {
  const auto row = [&](const char* name, double value) {
    Row result{.name = name, .value = value, .unit = "GB/s", .floor = speed.copy};
    result.ratio = value / speed.copy;
    return result;
  };
  return {Row{.name = "kernel_copy", .value = speed.copy, .unit = "GB/s"},
          row("kernel_light_k7", speed.light), row("kernel_light_glu_k7", speed.light_glu)};
}

}  // namespace convseq::bench
