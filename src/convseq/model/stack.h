#pragma once

#include <memory>

#include "convseq/model/layer_options.h"
#include "convseq/nn/embedding.h"
#include "convseq/nn/recompute.h"
#include "convseq/spec/model_config.h"

namespace convseq {

// The parts of encoder and decoder around their blocks: position embeddings, the relative position
// bias shared by all attention layers of the stack, dropout, and the final norm.
class Stack : public torch::nn::Module {
 public:
  // In training, recompute the activations of the blocks in the backward pass instead of storing
  // them.
  void recompute_blocks(bool on) { recomputes_ = on; }

 protected:
  Stack(const ModelConfig& config, Side side);

  // [B,T,d] -> [B,T,d]. The first token of each row is at position `first`.
  torch::Tensor enter(const torch::Tensor& embedded, int64_t first) const;
  // The same for one token per row, at its own position: `positions` [B] int64, on the same device.
  torch::Tensor enter(const torch::Tensor& embedded, const torch::Tensor& positions) const;
  torch::Tensor leave(const torch::Tensor& x) const;
  torch::Tensor position_bias(int64_t queries, int64_t keys) const;  // undefined: none
  torch::Tensor bias_by_distance() const;                            // likewise
  void check_positions(int64_t end) const;
  void initialise_stack(torch::Generator& random);
  torch::Tensor run(std::function<torch::Tensor(const nn::Inputs&)> block,
                    const nn::Inputs& inputs) const;

  ModelConfig config_;
  nn::Residual residual_;

 private:
  bool recomputes_ = false;
  std::shared_ptr<nn::Embedding> positions_;  // learned
  std::shared_ptr<nn::RelativeBias> relative_bias_;
  std::shared_ptr<nn::Norm> norm_;
};

}  // namespace convseq
