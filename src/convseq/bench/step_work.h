#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "convseq/spec/flops.h"

namespace convseq::bench {

// A linear map of a step: y [rows,out] = x [rows,in] Wᵀ, with dx = dy W and dW = dyᵀ x in the
// backward pass: three matmuls of the same size, `count` times per step.
struct Matmul {
  int64_t rows = 0;
  int64_t in = 0;
  int64_t out = 0;
  int64_t count = 0;

  double flops() const;  // of all three, all counts
};

// softmax(Q Kᵀ) V, forward and backward, `count` times per step.
struct AttentionMatmul {
  int64_t batch = 0;
  int64_t heads = 0;
  int64_t queries = 0;
  int64_t keys = 0;
  int64_t head_channels = 0;
  bool causal = false;
  int64_t count = 0;

  double flops() const;  // as spec/flops.h counts: the backward pass twice the forward
};

// What one training step of `batch` examples is made of.
struct StepWork {
  std::vector<Matmul> matmuls;
  std::vector<AttentionMatmul> attentions;
  // Bytes that everything else must move, by part. Each part is one pass between matmuls, fused
  // within itself but into no matmul: a gate with its convolution, a norm with its residual sum,
  // the loss, the optimizer with its clipping. ReLU and the sums of gradients along the residual
  // stream are in the epilogues of the matmuls beside them.
  std::vector<std::pair<std::string, double>> rest_bytes;

  double bytes_of(std::string_view part) const;  // 0 where there is none
};

inline constexpr const char* kOptimizerPart = "optimizer and clipping";

struct StepShape {
  int64_t batch = 1;
  Workload work;
  int64_t element_bytes = 2;  // of activations and gradients; 2: with fp32 masters beside them
  int64_t loss_chunk_tokens = 1024;  // the matmul with the vocabulary comes in such chunks
};

StepWork step_work(const ModelConfig& config, const StepShape& shape);

}  // namespace convseq::bench
