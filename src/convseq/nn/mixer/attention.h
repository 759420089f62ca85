#pragma once

#include <array>

#include "convseq/nn/linear.h"
#include "convseq/nn/mixer/mixer.h"
#include "convseq/ops/attention.h"
#include "convseq/ops/reference/position_buckets.h"

namespace convseq::nn {

struct AttentionOptions {
  int64_t channels = 0;
  int64_t heads = 1;
  int64_t head_channels = 64;
  double dropout = 0;
};

// The projections of T5's attention: no biases, no 1/sqrt(dk). They are registered with the owning
// module.
class AttentionProjections {
 public:
  AttentionProjections(torch::nn::Module& owner, const AttentionOptions& options);

  torch::Tensor queries(const Stream& x) const { return split(query_->forward(x)); }
  torch::Tensor keys(const Stream& x) const { return split(key_->forward(x)); }
  torch::Tensor values(const Stream& x) const { return split(value_->forward(x)); }
  // Queries, keys and values from one matmul with `weights` = one_matrix().
  std::array<torch::Tensor, 3> all(const torch::Tensor& x, const torch::Tensor& weights) const;
  torch::Tensor one_matrix() const;  // [3 H*dk, d], without gradients
  // [B,H,T,dk] -> [B,T,d]. A sum is for inference only.
  torch::Tensor join(const torch::Tensor& heads, const BranchSum& sum = {}) const;
  void initialise(torch::Generator& random);

  const AttentionOptions& options() const { return options_; }

 private:
  torch::Tensor split(const torch::Tensor& x) const;  // [B,T,H*dk] -> [B,H,T,dk]

  AttentionOptions options_;
  std::shared_ptr<Linear> query_, key_, value_, output_;
};

// Self-attention as a mixer. Its decode state is a key-value cache, which grows, or has a fixed
// size if a capacity is given.
class SelfAttention : public Mixer {
 public:
  explicit SelfAttention(const MixerOptions& options);

  torch::Tensor forward(const Stream& x, const MixerContext& context) override;
  std::unique_ptr<MixerState> start(int64_t batch, int64_t capacity,
                                    KvCacheType cache) const override;
  torch::Tensor step(const torch::Tensor& x, const MixerContext& context,
                     MixerState& state) override;
  void initialise(torch::Generator& random) override { projections_.initialise(random); }

 private:
  double dropout() const { return is_training() ? projections_.options().dropout : 0; }

  AttentionProjections projections_;
  bool causal_;
};

// Encoder-decoder attention, used in every decoder block with any mixer.
class CrossAttention : public torch::nn::Module {
 public:
  // The keys and values of the source, computed once per sequence.
  struct Memory {
    ops::AttentionCache cache;  // [B,H,S,dk]
    Lengths lengths;

    void reorder(const torch::Tensor& rows);
    void reorder_in_place(const torch::Tensor& rows);
    int64_t bytes() const { return cache.bytes(); }
  };

  explicit CrossAttention(const AttentionOptions& options);
  Memory remember(const Stream& encoded, const Lengths& lengths) const;
  // [B,T,d] -> [B,T,d]. A sum is for inference only.
  torch::Tensor forward(const Stream& x, const Memory& memory, const BranchSum& sum = {}) const;
  void initialise(torch::Generator& random) { projections_.initialise(random); }

 private:
  AttentionProjections projections_;
};

// T5's relative position bias: one value per head and bucket, shared by all layers of a stack.
class RelativeBias : public torch::nn::Module {
 public:
  RelativeBias(const ops::BucketOptions& buckets, const AttentionOptions& attention);
  // The bias for ops::attention(), with the queries at the last positions of the keys.
  torch::Tensor forward(int64_t queries, int64_t keys) const;
  torch::Tensor by_distance() const;  // fp32 (or float64), [H, 2 max_distance + 1]
  void initialise(double deviation, torch::Generator& random) {
    draw_normal(weight_, deviation, random);
  }

 private:
  ops::BucketOptions buckets_;
  AttentionOptions attention_;  // of the layers that use it
  torch::Tensor weight_;        // [buckets, heads]
};

}  // namespace convseq::nn
