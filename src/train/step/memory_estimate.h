#pragma once

#include <torch/types.h>

#include <string>

#include "convseq/spec/model_config.h"
#include "convseq/train/optim/optimizer.h"

namespace convseq {

// What a run will hold in the memory of one device, in bytes, from its sizes alone. Doubles: sizes
// that no machine has do not overflow.
struct MemoryEstimate {
  double weights = 0;        // with bf16, its own and the fp32 masters
  double gradients = 0;      // of all weights that learn
  double optimizer = 0;      // running averages
  double activations = 0;    // kept for the backward pass, and the largest temporary tensors
  double update = 0;         // temporary tensors of the optimizer's step
  bool accumulates = false;  // gradients are there while the next micro-batch is computed

  double total() const;  // the peak of a step: activations and the update are never there at once
  std::string describe() const;  // "3.2 GB (weights 0.9, gradients 0.9, …)"
};

struct TrainingShape {
  int64_t rows = 1;  // of a micro-batch
  int64_t source = 512;
  int64_t target = 114;
  int64_t micro_batches = 1;
  torch::Dtype precision = torch::kFloat32;  // that the model computes in
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
