#pragma once

#include <torch/types.h>

#include <functional>
#include <vector>

namespace convseq::bench {

using Work = std::function<void()>;

struct TimingOptions {
  int rounds = 15;      // the median of these is reported
  double round_ms = 5;  // a round repeats the work for this long
  int warm_ups = 3;     // before the first round, on a GPU
};

// Median milliseconds of each work. They alternate round by round, so that other load on the
// machine affects all of them alike. On a GPU the device's clock counts, and the launches are
// queued before it starts: the work must not synchronise with the device. On a CPU now_ms() counts.
std::vector<double> milliseconds_of(torch::Device device, const std::vector<Work>& works,
                                    const TimingOptions& options = {});

// The same by now_ms(), including launches and waits: for whole training and decoding steps.
double step_milliseconds(torch::Device device, const Work& work, const TimingOptions& options);

// Milliseconds since some moment, of the wall clock, or on a CPU with one thread of the process's
// CPU time, which other load on the machine does not affect.
double now_ms(torch::Device device);

void synchronize(torch::Device device);

// More than any cache of the device holds; buffers must rotate over more than this.
int64_t cache_bytes(torch::Device device);

// A plain copy, timed in alternation with what is compared with it. On a CPU it is memcpy, split
// over as many threads as an op has. Each buffer is twice the largest cache, so that memcpy writes
// past the caches and moves no more than the bytes counted (a short one first reads what it will
// write).
class Copy {
 public:
  Copy(torch::Device device, int64_t cache);
  void run();
  double bandwidth(double ms) const;  // bytes read and written per second

 private:
  torch::Tensor from_, to_;
};

double copy_bandwidth(torch::Device device, int64_t cache, const TimingOptions& options = {});

// Freed memory stays with the process, so that no page faults are measured. Once per process.
void keep_freed_memory();

}  // namespace convseq::bench
