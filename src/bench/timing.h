#pragma once

#include <torch/types.h>

#include <functional>
#include <vector>

namespace convseq::bench {

using Work = std::function<void()>;

struct TimingOptions {
  int rounds = 15;      // the median of so many counts
  double round_ms = 5;  // a round repeats the work until it fills this
  int warm_ups = 3;     // before the first, on a GPU
};

// Median milliseconds of each work. They take turns, round after round, so that what else happens
// to the machine meets them alike. On a GPU the device's own clock counts, and the host's launches
// are queued before it starts: the work must not wait for the device. On a CPU now_ms() counts.
std::vector<double> milliseconds_of(torch::Device device, const std::vector<Work>& works,
                                    const TimingOptions& options = {});

// The same by now_ms(), launches, waiting and all: for whole steps of training and decoding.
double step_milliseconds(torch::Device device, const Work& work, const TimingOptions& options);

// Milliseconds since some moment: the wall clock's, or on a CPU with one thread the process's CPU
// time, whatever else the machine is doing.
double now_ms(torch::Device device);

void synchronize(torch::Device device);

// More than any cache of the device holds: what buffers must rotate beyond.
int64_t cache_bytes(torch::Device device);

// A plain copy, to be timed in turn with what is compared with it. On a CPU memcpy, cut among as
// many threads as an op has. Each side is twice the largest cache: memcpy then writes past the
// caches, and moves no more than the bytes counted (a short one first reads what it will write).
class Copy {
 public:
  Copy(torch::Device device, int64_t cache);
  void run();
  double bandwidth(double ms) const;  // bytes read and written a second

 private:
  torch::Tensor from_, to_;
};

double copy_bandwidth(torch::Device device, int64_t cache, const TimingOptions& options = {});

// Freed memory stays with the process, so that nobody measures page faults. Once a process.
void keep_freed_memory();

}  // namespace convseq::bench
