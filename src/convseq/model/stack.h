#pragma once

#include <memory>

#include "convseq/model/layer_options.h"
#include "convseq/nn/embedding.h"
#include "convseq/nn/recompute.h"
#include "convseq/spec/model_config.h"

namespace convseq {

// What encoder and decoder share around their blocks: positions at the entrance, the relative bias
// that all attention layers of the stack use, dropout, and the final norm.
class Stack : public torch::nn::Module {
 public:
  // In training, the backward pass computes the blocks again instead of keeping their activations.
  void recompute_blocks(bool on) { recomputes_ = on; }

 protected:
  Stack(const ModelConfig& config, Side side);

  // [B,T,d] -> [B,T,d]; the first row of x stands at position `first`.
  torch::Tensor enter(const torch::Tensor& embedded, int64_t first) const;
  // The same for one token per row, each at its own of `positions` [B] (int64, on x's device).
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
