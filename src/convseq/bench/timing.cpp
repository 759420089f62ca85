#include "convseq/bench/timing.h"

#include <ATen/DeviceAccelerator.h>
#include <ATen/Parallel.h>
#include <c10/core/Event.h>
#include <malloc.h>
#include <torch/cuda.h>
#include <torch/types.h>
#include <torch/utils.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <ctime>

#include "convseq/bench/benchmark_report.h"
#include "convseq/ops/kernel/torch_threads.h"

namespace convseq::bench {
namespace {

constexpr double kMostRepeats = 50;   // a GPU queues about a thousand launches
constexpr double kSlowStepMs = 2000;  // such a step is steady enough to be timed once

double wall_now() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration<double, std::milli>(now).count();
}

void repeat(const Work& work, int times) {
  for (int i = 0; i < times; ++i) work();
}

int repeats_for(double each_ms, const TimingOptions& options) {
  const double fitting = options.round_ms / std::max(each_ms, 1e-6);
  return static_cast<int>(std::clamp(fitting, 1.0, kMostRepeats));
}

// Keeps the GPU busy for about this long while the host queues the work to be measured.
class HeadStart {
 public:
  explicit HeadStart(torch::Device device)
      : a_(torch::randn({kSize, kSize}, torch::TensorOptions(device)).to(torch::kBFloat16)),
        out_(torch::empty_like(a_)) {
    once();
    synchronize(device);
    const double start = wall_now();
    for (int i = 0; i < kProbes; ++i) once();
    synchronize(device);
    each_ms_ = (wall_now() - start) / kProbes;
  }

  void give(double milliseconds) {
    for (double given = 0; given < milliseconds; given += each_ms_) once();
  }

 private:
  static constexpr int64_t kSize = 4096;
  static constexpr int kProbes = 3;
  void once() { torch::mm_out(out_, a_, a_); }

  torch::Tensor a_, out_;
  double each_ms_ = 0;
};

class CudaTimer {
 public:
  CudaTimer(torch::Device device, const Work& work, const TimingOptions& options)
      : device_(device), work_(work) {
    repeat(work_, options.warm_ups);
    synchronize(device_);
    double start = wall_now();
    work_();
    synchronize(device_);
    repeats_ = repeats_for(wall_now() - start, options);
    start = wall_now();
    repeat(work_, repeats_);
    host_ms_ = wall_now() - start;
    synchronize(device_);
  }

  double once(HeadStart& head_start) const {
    const c10::Stream stream = at::accelerator::getCurrentStream(device_.index());
    c10::Event begin(c10::DeviceType::CUDA, c10::EventFlag::BACKEND_DEFAULT);
    c10::Event end(c10::DeviceType::CUDA, c10::EventFlag::BACKEND_DEFAULT);
    head_start.give(1.5 * host_ms_);
    begin.record(stream);
    repeat(work_, repeats_);
    end.record(stream);
    end.synchronize();
    return begin.elapsedTime(end) / repeats_;
  }

 private:
  torch::Device device_;
  const Work& work_;
  int repeats_ = 1;
  double host_ms_ = 0;
};

class CpuTimer {
 public:
  CpuTimer(const Work& work, const TimingOptions& options) : work_(work) {
    work_();
    const double start = now_ms(torch::kCPU);
    work_();
    repeats_ = repeats_for(now_ms(torch::kCPU) - start, options);
  }

  double once() const {
    const double start = now_ms(torch::kCPU);
    repeat(work_, repeats_);
    return (now_ms(torch::kCPU) - start) / repeats_;
  }

 private:
  const Work& work_;
  int repeats_ = 1;
};

std::vector<double> medians(int rounds, size_t works, const std::function<double(size_t)>& once) {
  std::vector<std::vector<double>> times(works);
  for (int round = 0; round < rounds; ++round) {
    for (size_t i = 0; i < works; ++i) times[i].push_back(once(i));
  }
  std::vector<double> result;
  for (const auto& each : times) result.push_back(median(each));
  return result;
}

void copy_on_cpu(const torch::Tensor& to, const torch::Tensor& from) {
  const int64_t parts = at::get_num_threads(), bytes = static_cast<int64_t>(from.nbytes());
  ops::on_torch_threads(parts, 1, [&](int64_t first, int64_t last) {
    const int64_t begin = bytes * first / parts, end = bytes * last / parts;
    std::memcpy(static_cast<char*>(to.mutable_data_ptr()) + begin,
                static_cast<const char*>(from.const_data_ptr()) + begin,
                static_cast<size_t>(end - begin));
  });
}

}  // namespace

std::vector<double> milliseconds_of(torch::Device device, const std::vector<Work>& works,
                                    const TimingOptions& options) {
  if (device.is_cuda()) {
    HeadStart head_start(device);
    std::vector<CudaTimer> timers;
    for (const Work& work : works) timers.emplace_back(device, work, options);
    return medians(options.rounds, works.size(),
                   [&](size_t i) { return timers[i].once(head_start); });
  }
  std::vector<CpuTimer> timers;
  for (const Work& work : works) timers.emplace_back(work, options);
  return medians(options.rounds, works.size(), [&](size_t i) { return timers[i].once(); });
}

double now_ms(torch::Device device) {
  if (device.is_cuda() || at::get_num_threads() > 1) return wall_now();
  timespec time{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return 1e3 * static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_nsec);
}

double step_milliseconds(torch::Device device, const Work& work, const TimingOptions& options) {
  const auto timed = [&](int repeats) {
    synchronize(device);
    const double start = now_ms(device);
    repeat(work, repeats);
    synchronize(device);
    return (now_ms(device) - start) / repeats;
  };
  timed(1);  // warms up
  double each = timed(1);
  if (each > kSlowStepMs) return each;
  for (int done = 2; device.is_cuda() && done < options.warm_ups; ++done) each = timed(1);
  const int repeats = repeats_for(each, options);
  return medians(options.rounds, 1, [&](size_t) { return timed(repeats); }).front();
}

void synchronize(torch::Device device) {
  if (device.is_cuda()) torch::cuda::synchronize(device.index());
}

int64_t cache_bytes(torch::Device device) {
  constexpr int64_t kLargestL2 = 128 << 20;  // of today's GPUs
  constexpr int64_t kLeast = 32 << 20;       // some machines do not report theirs
  if (device.is_cuda()) return kLargestL2;
  return std::max<int64_t>(::sysconf(_SC_LEVEL3_CACHE_SIZE), kLeast);
}

Copy::Copy(torch::Device device, int64_t cache)
    : from_(torch::randint(0, 256, {2 * cache}, torch::TensorOptions(device).dtype(torch::kUInt8))),
      to_(torch::zeros_like(from_)) {}

void Copy::run() {
  if (from_.is_cpu()) return copy_on_cpu(to_, from_);
  to_.copy_(from_);
}

double Copy::bandwidth(double ms) const { return 2e3 * static_cast<double>(from_.nbytes()) / ms; }

double copy_bandwidth(torch::Device device, int64_t cache, const TimingOptions& options) {
  Copy copy(device, cache);
  return copy.bandwidth(milliseconds_of(device, {[&] { copy.run(); }}, options).front());
}

void keep_freed_memory() {
  ::mallopt(M_MMAP_THRESHOLD, 1 << 30);
  ::mallopt(M_TRIM_THRESHOLD, -1);
}

}  // namespace convseq::bench
