#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "convseq/bench/watch.h"
#include "convseq/runtime/cpu_engine.h"

namespace convseq::bench {

// The engine of a model with random weights.
using MakeEngine = std::function<std::unique_ptr<Engine>(const ModelConfig&, CpuPrecision)>;

// Trained models on a CPU as services run them: encoder with pooled head, and greedy generation.
// All rows of a batch have the same length.
struct CpuSpeedOptions {
  std::vector<ModelConfig> models;
  std::vector<CpuPrecision> precisions = {CpuPrecision::Int8, CpuPrecision::Bf16,
                                          CpuPrecision::Fp32};
  std::vector<int64_t> lengths = {32, 128, 512, 2048};
  std::vector<int64_t> batches = {32, 1};    // examples per call of the encoder
  int64_t max_tokens = 16'384;               // per call; a batch with more has fewer rows
  std::vector<int64_t> sequences = {1, 16};  // generated at once; empty: no generation
  int64_t source = 128;                      // tokens, of a generated sequence
  int64_t new_tokens = 64;
  double seconds = 1;  // per measurement; the median call is reported
  MakeEngine make_engine;
  std::function<void(CpuPrecision)> before_each = [](CpuPrecision) {};  // measurement
  Watch watch = go_on;
};

// One measurement: of the encoder with pooled head, or of generation.
struct CpuSpeed {
  std::string mixer;
  CpuPrecision precision{};
  int64_t d_model = 0, layers = 0;
  int64_t batch = 0;       // as asked for
  int64_t rows = 0;        // of a call
  int64_t length = 0;      // of the sources
  int64_t new_tokens = 0;  // 0: encoder with pooled head
  double ms = 0;           // per call
  double gigaflops = 0;    // matmuls and convolutions of a call

  double examples_per_second() const { return 1e3 * static_cast<double>(rows) / ms; }
  double tokens_per_second() const {
    return examples_per_second() * static_cast<double>(new_tokens);
  }
  double gigaops_per_second() const { return 1e3 * gigaflops / ms; }
};

// The median time of a call: after one to warm up at least one, and as many as fit into the time.
double median_ms(const std::function<void()>& call, double seconds);

std::string row_name(const CpuSpeed& speed);  // "cpu_light_int8_128_batch_32"

std::vector<CpuSpeed> measure_cpu(const CpuSpeedOptions& options);

}  // namespace convseq::bench
