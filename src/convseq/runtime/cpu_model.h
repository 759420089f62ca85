#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <vector>

#include "convseq/kernels/row_ops.h"
#include "convseq/runtime/cpu_engine.h"
#include "convseq/runtime/mixer/cpu_mixer.h"

namespace convseq {

// The type of the packed matrices of a model whose folder has them in the type `stored`.
kernels::WeightType weight_type(CpuPrecision precision, kernels::WeightType stored);

// Encoder-decoder attention.
struct CpuCrossAttention {
  kernels::NormParameters norm;
  kernels::PackedMatrix query;
  kernels::PackedMatrix key_value;  // keys, then values
  kernels::PackedMatrix output;
};

struct CpuFeedForward {
  kernels::NormParameters norm;
  kernels::PackedMatrix up;  // with gated GELU the gate, then `up`
  kernels::PackedMatrix down;
};

// A mixer and what follows it up to the next one, each with its residual connection.
struct CpuLayer {
  kernels::NormParameters norm;
  std::unique_ptr<CpuMixer> mixer;
  std::optional<CpuCrossAttention> cross;
  std::optional<CpuFeedForward> ffn;
};

struct CpuStack {
  const float* positions = nullptr;  // learned, [max_positions, d]; null: none
  kernels::AttentionBias bias;
  std::vector<CpuLayer> layers;
  kernels::NormParameters norm;
};

// The weights of a model, packed for a CPU. Any number of threads can compute with it.
struct CpuModel {
  ModelConfig config;
  kernels::CpuLevel level{};
  kernels::WeightType type{};
  std::unique_ptr<const StoredWeights> stored;
  StoredTensor embedding;
  CpuStack encoder;
  CpuStack decoder;              // its final norm includes the scale of a tied output matrix
  kernels::PackedMatrix output;  // [V, d]
  const float* classifier_weight = nullptr;  // [classes, d]
  const float* classifier_bias = nullptr;
  std::unique_ptr<const PackedWeights> packed;
};

std::shared_ptr<const CpuModel> load_cpu_model(const std::filesystem::path& folder,
                                               const CpuEngineOptions& options);

}  // namespace convseq
