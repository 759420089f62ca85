// The convolutions' CPU kernels against the machine's copy bandwidth, and the ops with their
// gradients against libtorch's depthwise convolution. Everything is measured in turn, round after
// round, on the same threads; medians count. Buffers rotate beyond the last cache. On one thread
// the times are CPU seconds, whatever else the machine is doing; on several they are the clock's.
#include <malloc.h>
#include <torch/torch.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstring>
#include <ctime>

#include "base/benchmark_report.h"
#include "kernels/conv.h"
#include "ops/conv.h"
#include "ops/reference.h"
#include "ops/torch_threads.h"

namespace convseq::bench {
namespace {

using kernels::ConvShape;
using kernels::CpuRun;

struct Sizes {
  int64_t batch = 8, time = 512, channels = 768, heads = 12;
  int rounds = 15, threads = 1;

  int64_t values() const { return batch * time * channels; }
};

constexpr double kForwardGoal = 0.6;   // of the copy bandwidth
constexpr double kTrainingGoal = 3.0;  // times libtorch's speed

double now() {
  timespec time{};
  ::clock_gettime(at::get_num_threads() == 1 ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

double seconds_of(const std::function<void()>& work) {
  const double start = now();
  work();
  return now() - start;
}

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + values.size() / 2, values.end());
  return values[values.size() / 2];
}

// Medians of several works, one of each a round.
std::vector<double> medians_of(int rounds, const std::vector<std::function<void()>>& works) {
  std::vector<std::vector<double>> seconds(works.size());
  for (int round = 0; round <= rounds; ++round) {
    for (size_t i = 0; i < works.size(); ++i) {
      const double taken = seconds_of(works[i]);
      if (round > 0) seconds[i].push_back(taken);  // the first one warms up
    }
  }
  std::vector<double> medians;
  for (const auto& each : seconds) medians.push_back(median(each));
  return medians;
}

// Hands out tensors of one shape in turn, more of them than the last cache holds.
class Rotation {
 public:
  Rotation(std::vector<int64_t> shape, torch::Dtype type) {
    const int64_t cache = std::max<int64_t>(::sysconf(_SC_LEVEL3_CACHE_SIZE), 32 << 20);
    const auto first = torch::randn(shape).to(type);
    const int64_t count = cache / static_cast<int64_t>(first.nbytes()) + 2;
    for (int64_t i = 0; i < count; ++i) tensors_.push_back(first.clone());
  }
  const torch::Tensor& next() { return tensors_[next_++ % tensors_.size()]; }
  int64_t bytes() const { return static_cast<int64_t>(tensors_[0].nbytes()); }

 private:
  std::vector<torch::Tensor> tensors_;
  size_t next_ = 0;
};

void copy_bytes(const torch::Tensor& from, const torch::Tensor& to) {
  const int64_t parts = at::get_num_threads();
  const auto bytes = static_cast<int64_t>(from.nbytes());
  ops::on_torch_threads(parts, 1, [&](int64_t begin, int64_t end) {
    const int64_t first = bytes * begin / parts, last = bytes * end / parts;
    std::memcpy(static_cast<char*>(to.mutable_data_ptr()) + first,
                static_cast<const char*>(from.const_data_ptr()) + first,
                static_cast<size_t>(last - first));
  });
}

// One kind of convolution: its name, and what a peer of libtorch's would be.
struct Kind {
  std::string name;  // light_conv, glu_conv, dynamic_conv
  int64_t kernel;
  torch::Dtype type = torch::kFloat32;

  bool glu() const { return name == "glu_conv"; }
  bool dynamic() const { return name == "dynamic_conv"; }
  std::string row(const char* direction) const {
    return fmt::format("{}_{}_k{}_cpu{}", name, direction, kernel,
                       type == torch::kBFloat16 ? "_bf16" : "");
  }
};

// The kernels alone, on buffers that are there.
std::vector<Row> kernel_rows(const Sizes& sizes, const Kind& kind) {
  const ops::ConvGeometry geometry{.kernel = kind.kernel};
  const ConvShape shape{
      .type = kind.type == torch::kFloat32 ? kernels::Type::Fp32 : kernels::Type::Bf16,
      .batch = sizes.batch,
      .time = sizes.time,
      .channels = sizes.channels,
      .heads = sizes.heads,
      .kernel = kind.kernel,
      .left = geometry.left(),
      .glu = kind.glu()};
  const CpuRun run{.parallel = ops::on_torch_threads};
  const int64_t width = kind.glu() ? 2 * sizes.channels : sizes.channels;
  Rotation x({sizes.batch, sizes.time, width}, kind.type);
  Rotation dx({sizes.batch, sizes.time, width}, kind.type);
  Rotation y({sizes.batch, sizes.time, sizes.channels}, kind.type);
  Rotation dy({sizes.batch, sizes.time, sizes.channels}, kind.type);
  const auto taps = torch::randn({sizes.heads, kind.kernel});
  const auto dtaps = torch::empty_like(taps);
  const auto logits =
      torch::randn({sizes.batch, sizes.time, sizes.heads, kind.kernel}).to(kind.type);
  const auto dlogits = torch::empty_like(logits);
  const kernels::DynamicTaps dynamic_taps{.values = logits.const_data_ptr(), .type = shape.type};

  const auto forward = [&] {
    if (kind.dynamic()) {
      return kernels::dynamic_conv_forward_cpu(
          shape,
          {.x = x.next().const_data_ptr(), .taps = dynamic_taps, .y = y.next().mutable_data_ptr()},
          run);
    }
    kernels::conv_forward_cpu(shape,
                              {.x = x.next().const_data_ptr(),
                               .taps = taps.const_data_ptr<float>(),
                               .y = y.next().mutable_data_ptr()},
                              run);
  };
  const auto backward = [&] {
    if (kind.dynamic()) {
      return kernels::dynamic_conv_backward_cpu(shape,
                                                {.x = x.next().const_data_ptr(),
                                                 .taps = dynamic_taps,
                                                 .dy = dy.next().const_data_ptr(),
                                                 .dx = dx.next().mutable_data_ptr(),
                                                 .dtaps = dlogits.mutable_data_ptr()},
                                                run);
    }
    kernels::conv_backward_cpu(shape,
                               {.x = x.next().const_data_ptr(),
                                .taps = taps.const_data_ptr<float>(),
                                .dy = dy.next().const_data_ptr(),
                                .dx = dx.next().mutable_data_ptr(),
                                .dtaps = dtaps.mutable_data_ptr<float>()},
                               run);
  };
  Rotation from({sizes.batch, sizes.time, sizes.channels}, torch::kFloat32);
  Rotation to({sizes.batch, sizes.time, sizes.channels}, torch::kFloat32);
  const auto seconds =
      medians_of(sizes.rounds, {forward, [&] { copy_bytes(from.next(), to.next()); }, backward});

  const double tap_bytes = kind.dynamic() ? static_cast<double>(logits.nbytes()) : 0;
  const double copy_speed = 2e-9 * static_cast<double>(from.bytes()) / seconds[1];
  const auto speed_row = [&](const char* direction, double bytes, double taken,
                             std::optional<double> goal) {
    const double speed = 1e-9 * bytes / taken;
    return Row{.name = kind.row(direction),
               .value = speed,
               .unit = "GB/s",
               .floor = goal ? std::optional(*goal * copy_speed) : std::nullopt,
               .peer = "memcpy",
               .peer_value = copy_speed,
               .ratio = speed / copy_speed};
  };
  const bool goal = kind.name == "light_conv" && kind.kernel == 7 && kind.type == torch::kFloat32;
  const auto x_bytes = static_cast<double>(x.bytes()), y_bytes = static_cast<double>(y.bytes());
  return {speed_row("forward", x_bytes + y_bytes + tap_bytes, seconds[0],
                    goal ? std::optional(kForwardGoal) : std::nullopt),
          speed_row("backward", 2 * x_bytes + y_bytes + 2 * tap_bytes, seconds[2], std::nullopt)};
}

void train(const torch::Tensor& y, const torch::Tensor& gradient) { y.backward(gradient); }

// The op and its gradients, as training calls it.
Row training_row(const Sizes& sizes, const Kind& kind) {
  const ops::ConvGeometry geometry{.kernel = kind.kernel};
  const int64_t width = kind.glu() ? 2 * sizes.channels : sizes.channels;
  const auto leaf = [&](std::vector<int64_t> shape) {
    return torch::randn(shape).to(kind.type).requires_grad_();
  };
  Rotation gradients({sizes.batch, sizes.time, sizes.channels}, kind.type);
  auto x = leaf({sizes.batch, sizes.time, width}), taps = leaf({sizes.heads, kind.kernel});
  auto logits = leaf({sizes.batch, sizes.time, sizes.heads * kind.kernel});
  const auto ours = [&] {
    x.mutable_grad() = torch::Tensor();
    train(kind.dynamic() ? ops::dynamic_conv(x, logits, {}, geometry)
          : kind.glu()   ? ops::glu_conv(x, taps, {}, geometry)
                         : ops::conv(x, taps, {}, geometry),
          gradients.next());
  };
  // libtorch's layout is [B,C,T]: it is given that, free of charge.
  Rotation turned({sizes.batch, sizes.channels, sizes.time}, kind.type);
  auto columns = leaf({sizes.batch, width, sizes.time});
  auto weight = leaf({sizes.channels, 1, kind.kernel});
  const auto theirs = [&] {
    if (kind.dynamic()) {
      x.mutable_grad() = torch::Tensor();
      const auto wide = logits.unflatten(-1, {sizes.heads, kind.kernel});
      return train(ops::reference::dynamic_conv(x, ops::reference::tap_softmax(wide), geometry),
                   gradients.next());
    }
    columns.mutable_grad() = torch::Tensor();
    train(torch::conv1d(kind.glu() ? torch::glu(columns, 1) : columns, weight, {}, 1,
                        kind.kernel / 2, 1, sizes.channels),
          turned.next());
  };
  const auto seconds = medians_of(sizes.rounds, {ours, theirs});
  const bool goal = kind.name == "light_conv" && kind.kernel == 7 && kind.type == torch::kFloat32;
  return {.name = kind.row("forward_backward"),
          .value = 1e3 * seconds[0],
          .unit = "ms",
          .floor = goal ? std::optional(1e3 * seconds[1] / kTrainingGoal) : std::nullopt,
          .peer = kind.dynamic() ? "a shifted sum in ATen"
                  : kind.glu()   ? "libtorch's glu and depthwise conv1d"
                                 : "libtorch's depthwise conv1d",
          .peer_value = 1e3 * seconds[1],
          .ratio = seconds[1] / seconds[0]};
}

int run(int argc, char** argv) {
  Sizes sizes;
  std::string only;
  CLI::App program("Speed of the convolutions on the CPU: share of the copy bandwidth, and peers.");
  program.add_option("--rounds", sizes.rounds, "Medians of so many")->capture_default_str();
  program.add_option("--threads", sizes.threads, "For both sides")->capture_default_str();
  program.add_option("--only", only, "Kinds whose row names contain this; writes nothing");
  CLI11_PARSE(program, argc, argv);
  at::set_num_threads(sizes.threads);
  // Freed memory is kept: neither side shall measure the kernel's page faults.
  ::mallopt(M_MMAP_THRESHOLD, 1 << 30);
  ::mallopt(M_TRIM_THRESHOLD, -1);

  std::vector<Row> rows;
  for (const auto type : {torch::kFloat32, torch::kBFloat16}) {
    for (const char* name : {"light_conv", "glu_conv", "dynamic_conv"}) {
      for (const int64_t kernel : {7, 15, 31}) {
        const Kind kind{name, kernel, type};
        if (kind.row("").find(only) == std::string::npos) continue;
        for (Row& row : kernel_rows(sizes, kind)) rows.push_back(std::move(row));
        // libtorch's depthwise convolution in bf16 takes minutes: no peer.
        if (type == torch::kFloat32) rows.push_back(training_row(sizes, kind));
      }
    }
  }
  if (only.empty()) {
    report("conv_cpu",
           fmt::format("conv_speed --rounds {} --threads {}", sizes.rounds, sizes.threads), rows);
  } else {
    for (const Row& row : rows) print(row);
  }
  return 0;
}

}  // namespace
}  // namespace convseq::bench

int main(int argc, char** argv) { return convseq::bench::run(argc, argv); }
