#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "convseq/kernels/attention_rows.h"
#include "convseq/kernels/packed_matmul.h"
#include "convseq/runtime/weights/weight_packer.h"
#include "convseq/spec/model_config.h"

namespace convseq {

// Rows [begin, end) of a sequence of `time` rows.
struct MixRows {
  const float* projected = nullptr;  // row 0 of the sequence; input.shape.outputs values per row
  int64_t time = 0;
  int64_t begin = 0;
  int64_t end = 0;
  float* mixed = nullptr;  // row `begin`; output.shape.inputs values per row
};

// One more row of a sequence.
struct MixStep {
  const float* projected = nullptr;
  int64_t position = 0;    // rows of the sequence before this one
  float* state = nullptr;  // state_values(tokens) of the sequence, at first zeros
  float* mixed = nullptr;
};

// The part of a mixer between two matmuls: x W_inputᵀ -> mixed -> mixed W_outputᵀ. It is fp32, runs
// on the calling thread and allocates nothing.
class CpuMixer {
 public:
  virtual ~CpuMixer() = default;

  virtual void mix(const MixRows& rows, std::byte* workspace) const = 0;
  // Causal mixers only: step by step the same as mix().
  virtual void step(const MixStep& step, std::byte* workspace) const = 0;
  // Values of the decode state of a sequence of at most `tokens` rows. The state of a shorter one
  // begins with the same values.
  virtual int64_t state_values(int64_t tokens) const = 0;
  // For calls with at most `rows` rows.
  virtual int64_t workspace_bytes(int64_t rows) const = 0;

  kernels::PackedMatrix input;
  kernels::PackedMatrix output;
};

struct CpuMixerOptions {
  Side side = Side::Encoder;
  int64_t layer = 0;
  std::string name;                              // of the mixer's tensors, "encoder.blocks.0.mixer"
  const kernels::AttentionBias* bias = nullptr;  // of the stack
};

// The mixer of a layer, with its weights in `packer`.
std::unique_ptr<CpuMixer> make_cpu_mixer(const CpuMixerOptions& options, WeightPacker& packer);
std::unique_ptr<CpuMixer> make_cpu_attention(const CpuMixerOptions& options, WeightPacker& packer);

}  // namespace convseq
