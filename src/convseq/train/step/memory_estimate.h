#pragma once

#include <torch/types.h>

#include <string>

#include "convseq/spec/model_config.h"
#include "convseq/train/optim/optimizer.h"

namespace convseq {

// The memory that a run takes on one device, in bytes, estimated from its sizes alone. They are
// doubles, so that sizes beyond any machine do not overflow.
struct MemoryEstimate {
  double weights = 0;        // with bf16, both the bf16 weights and the fp32 masters
  double gradients = 0;      // of all trainable weights
  double optimizer = 0;      // running averages
  double activations = 0;    // kept for the backward pass, and the largest temporary tensors
  double update = 0;         // temporary tensors of the optimizer's step
  bool accumulates = false;  // gradients are held while the next micro-batch is computed

  double total() const;          // the peak of a step: activations and the update never coexist
  std::string describe() const;  // "3.2 GB (weights 0.9, gradients 0.9, …)"
};

struct TrainingShape {
  int64_t rows = 1;  // of a micro-batch
  int64_t source = 512;
  int64_t target = 114;
  int64_t micro_batches = 1;
  torch::Dtype precision = torch::kFloat32;  // of the model's arithmetic
  OptimizerKind optimizer = OptimizerKind::AdamWRms;
  bool recompute = false;
  bool pooled = false;  // the head on the encoder's output instead of a decoder
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
