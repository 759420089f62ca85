#pragma once

#include "convseq/bench/benchmark_report.h"
#include "convseq/bench/plot.h"
#include "convseq/bench/step_profile.h"
#include "convseq/bench/watch.h"
#include "convseq/model/seq2seq.h"

namespace convseq::bench {

// Greedy decoding, token by token, and the size of the decode state: a convolution's ring buffer of
// past inputs against attention's growing keys and values.
struct DecodeSpeedOptions {
  torch::Device device = torch::kCPU;
  torch::Dtype type = torch::kFloat32;
  std::vector<ModelConfig> models;
  std::vector<int64_t> positions;  // ascending
  int64_t batch = 1;
  int64_t source = 512;
  KvCacheType cache = KvCacheType::Auto;  // on a GPU
  double max_memory = 0;                  // bytes; 0: the free memory
  bool profile = false;  // profile the steps before the last position by kernel, on a GPU
  Watch watch = go_on;
};

struct DecodeSpeed {
  std::string mixer;
  int64_t position = 0;
  double tokens_per_second = 0;  // over the last steps before this position, all rows together
  double step_ms = 0;
  double floor_ms = 0;              // reading weights and decode state once, as fast as a copy
  int64_t state_bytes = 0;          // of the mixers, per sequence
  int64_t source_bytes = 0;         // of the encoder-decoder attention, per sequence
  std::vector<KernelTime> kernels;  // of one step, where it was profiled
};

std::vector<DecodeSpeed> measure_decoding(const DecodeSpeedOptions& options);

std::vector<Row> rows_of(const std::vector<DecodeSpeed>& speeds);

Plot speed_plot(const std::vector<DecodeSpeed>& speeds);
Plot state_plot(const std::vector<DecodeSpeed>& speeds);

}  // namespace convseq::bench
