#pragma once

#include <torch/types.h>

#include <chrono>
#include <cstdint>
#include <string>

namespace convseq {

// Speed and memory of a stretch of training.
struct Pace {
  double seconds = 0;
  int64_t source_tokens = 0;
  double flops = 0;  // model FLOPs, as counted by spec/flops.h
  // Peak FLOP/s of all processes' devices: measured once with a large matmul, and raised if the run
  // itself is faster, since other programs may have used the machine during the measurement.
  double flops_ceiling = 0;
  int64_t peak_memory_bytes = 0;

  double tokens_per_second() const;
  double utilisation() const;    // fraction of the ceiling, at most 1
  std::string describe() const;  // "12.3k tokens/s  41% of peak FLOPs  1.2 GiB"
};

// Measures the pace of the whole run and of the stretch since the last log line.
class PaceMeter {
 public:
  PaceMeter(torch::Device device, double flops_ceiling);

  void count(int64_t source_tokens, double flops);
  Pace whole() const { return whole_.now(device_); }
  Pace lately() const { return lately_.now(device_); }
  void new_stretch();  // restarts lately(); a stretch above the ceiling raises it

 private:
  struct Stretch {
    Pace pace;
    std::chrono::steady_clock::time_point began = std::chrono::steady_clock::now();
    Pace now(torch::Device device) const;
  };
  torch::Device device_;
  Stretch whole_, lately_;
};

// FLOP/s of a large matmul of this type on the device; the measurement takes a third of a second.
double measure_matmul_flops(torch::Device device, torch::Dtype type);

// Peak memory of this process: GPU memory on a GPU, resident memory on a CPU.
int64_t peak_memory_bytes(torch::Device device);

}  // namespace convseq
