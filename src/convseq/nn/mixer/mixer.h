#pragma once

#include <torch/nn/module.h>
#include <torch/types.h>

#include <memory>

#include "convseq/nn/branch_sum.h"
#include "convseq/nn/stream.h"
#include "convseq/ops/geometry.h"
#include "convseq/ops/lengths.h"
#include "convseq/spec/kv_cache_type.h"
#include "convseq/spec/mixer_kind.h"

namespace convseq::nn {

using ops::Lengths;

// The inputs of a mixer besides x.
struct MixerContext {
  Lengths lengths;              // positions beyond them are padding
  torch::Tensor position_bias;  // for ops::attention(); undefined: none
  // In a step with a state of fixed capacity: [B] int64, the position of each row. The bias is then
  // indexed by distance.
  torch::Tensor positions = {};
  BranchSum sum = {};  // of a step's output
};

// Row i becomes the former row rows[i]. In place if the number of rows is unchanged.
void reorder_in_place(torch::Tensor& x, const torch::Tensor& rows);

// The decode state of a mixer.
class MixerState {
 public:
  virtual ~MixerState() = default;
  virtual void reorder(const torch::Tensor& rows) = 0;  // row i becomes the former row rows[i]
  virtual int64_t bytes() const = 0;
};

class Mixer : public torch::nn::Module {
 public:
  virtual torch::Tensor forward(const Stream& x,
                                const MixerContext& context) = 0;  // [B,T,d] -> [B,T,d]

  // Incremental decoding: step(x1), step(x2), … from start() equal forward({x1, x2, …}). With a
  // capacity (in positions) the state has a fixed size and fixed addresses, and each step takes one
  // token per row, whose position is in the context. Such a step can be captured as a CUDA graph.
  // `cache` is the type of its keys and values, if it keeps any.
  virtual std::unique_ptr<MixerState> start(int64_t batch, int64_t capacity = 0,
                                            KvCacheType cache = KvCacheType::Auto) const = 0;
  virtual torch::Tensor step(const torch::Tensor& x, const MixerContext& context,
                             MixerState& state) = 0;  // [B,n,d] -> [B,n,d]

  virtual void initialise(torch::Generator& random) = 0;
};

struct MixerOptions {
  MixerKind kind = MixerKind::Light;
  int64_t channels = 0;
  bool causal = false;
  double dropout = 0;
  // attention
  int64_t heads = 1;
  int64_t head_channels = 64;
  // convolutions
  int64_t kernel = 7;
  int64_t dilation = 1;
  int64_t conv_heads = 1;
  bool glu = true;
  bool tap_softmax = true;
  double tap_dropout = 0;
};

std::shared_ptr<Mixer> make_mixer(const MixerOptions& options);

}  // namespace convseq::nn
