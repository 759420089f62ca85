#include "convseq/train/run/pace.h"

#include <ATen/DeviceAccelerator.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <torch/cuda.h>
#include <torch/types.h>
#include <torch/utils.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <limits>

namespace convseq {
namespace {

// The shortest of many runs: other programs may use the machine, the first run may load a library,
// and all threads of a process may share one core for its first 0.1 s.
double seconds_of(torch::Device device, const std::function<void()>& work) {
  using Clock = std::chrono::steady_clock;
  constexpr int kFewest = 8;
  double best = std::numeric_limits<double>::infinity();
  const auto end = Clock::now() + std::chrono::milliseconds(300);
  auto start = Clock::now();
  for (int i = 0; i < kFewest || start < end; ++i) {
    work();
    if (device.is_cuda()) torch::cuda::synchronize(device.index());
    const auto now = Clock::now();
    best = std::min(best, std::chrono::duration<double>(now - start).count());
    start = now;
  }
  return best;
}

double flops_per_second(const Pace& pace) { return pace.flops / std::max(pace.seconds, 1e-9); }

// The rate of a shorter stretch is unreliable: GPU work queued before it may end within it.
constexpr double kShortestStretch = 0.3;  // seconds

}  // namespace

double Pace::tokens_per_second() const {
  return static_cast<double>(source_tokens) / std::max(seconds, 1e-9);
}

double Pace::utilisation() const {
  return std::min(1.0, flops_per_second(*this) / std::max(flops_ceiling, 1.0));
}

std::string Pace::describe() const {
  return fmt::format("{:.3g}k tokens/s  {:.0f}% of peak FLOPs  {:.2f} GiB",
                     tokens_per_second() / 1e3, 100 * utilisation(),
                     static_cast<double>(peak_memory_bytes) / (1 << 30));
}

PaceMeter::PaceMeter(torch::Device device, double flops_ceiling) : device_(device) {
  whole_.pace.flops_ceiling = flops_ceiling;
  lately_ = whole_;
}

void PaceMeter::count(int64_t source_tokens, double flops) {
  for (Stretch* stretch : {&whole_, &lately_}) {
    stretch->pace.source_tokens += source_tokens;
    stretch->pace.flops += flops;
  }
}

void PaceMeter::new_stretch() {
  const Pace ended = lately();
  double& ceiling = whole_.pace.flops_ceiling;
  if (ended.seconds >= kShortestStretch) ceiling = std::max(ceiling, flops_per_second(ended));
  lately_ = {.pace = {.flops_ceiling = ceiling}};
}

Pace PaceMeter::Stretch::now(torch::Device device) const {
  Pace result = pace;
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  result.peak_memory_bytes = convseq::peak_memory_bytes(device);
  return result;
}

double measure_matmul_flops(torch::Device device, torch::Dtype type) {
  const torch::NoGradGuard no_grad;
  const int64_t n = device.is_cuda() ? 8192 : 512;
  // Random numbers, because a GPU runs matmuls of zeros faster.
  const auto a = torch::randn({n, n}, torch::TensorOptions(device).dtype(torch::kFloat32)).to(type);
  const double seconds = seconds_of(device, [&] { torch::mm(a, a); });
  return 2.0 * static_cast<double>(n * n * n) / seconds;
}

int64_t peak_memory_bytes(torch::Device device) {
  if (device.is_cuda()) {
    at::globalContext().lazyInitDevice(device.type());  // the allocator may not exist yet
    const auto stats = at::accelerator::getDeviceStats(std::max<int8_t>(device.index(), 0));
    return stats.allocated_bytes[0].peak;
  }
  rusage use{};
  ::getrusage(RUSAGE_SELF, &use);
  return use.ru_maxrss * 1024;
}

}  // namespace convseq
