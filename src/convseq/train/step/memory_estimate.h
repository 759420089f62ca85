#pragma once

#include <torch/types.h>

#include <string>

#include "convseq/spec/model_config.h"
#include "convseq/train/optim/optimizer.h"

namespace convseq {

// The memory of a run on one device in bytes, estimated from its sizes alone. The numbers are
// doubles, so that sizes beyond any machine do not overflow.
struct MemoryEstimate {
  double weights = 0;        // with bf16, both the bf16 weights and the fp32 masters
  double gradients = 0;      // of all weights; frozen ones are not subtracted
  double optimizer = 0;      // running averages
  double activations = 0;    // kept for backward, and the largest temporary tensors
  double update = 0;         // temporary tensors of the optimizer's step
  bool accumulates = false;  // gradients are kept during the next micro-batch

  double total() const;          // peak of a step; activations and update do not coexist
  std::string describe() const;  // "3.2 GB (weights 0.9, gradients 0.9, …)"
};

struct TrainingShape {
  int64_t rows = 1;  // per micro-batch
  int64_t source = 512;
  int64_t target = 114;
  int64_t micro_batches = 1;
  torch::Dtype precision = torch::kFloat32;  // compute type
  OptimizerKind optimizer = OptimizerKind::AdamWRms;
  bool recompute = false;
  bool pooled = false;  // a classification head instead of a decoder
  torch::Device device = torch::kCPU;
};

MemoryEstimate training_memory(const ModelConfig& config, const TrainingShape& shape);

struct InferenceShape {
  int64_t rows = 1;
  int64_t source = 512;
  int64_t target = 114;
  torch::Dtype precision = torch::kFloat32;
};

MemoryEstimate inference_memory(const ModelConfig& config, const InferenceShape& shape);

}  // namespace convseq
