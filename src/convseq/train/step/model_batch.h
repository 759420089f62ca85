#pragma once

#include <torch/types.h>

#include <array>

#include "convseq/data/batch.h"
#include "convseq/model/seq2seq.h"
#include "convseq/train/step/token_loss.h"

namespace convseq {

// A batch as tensors, for the model and the loss.
struct ModelBatch {
  torch::Tensor source;         // [B,S]
  nn::Lengths source_lengths;   // undefined values: no padding
  torch::Tensor decoder_input;  // [B,T]: the start token, then the target without its last token
  torch::Tensor labels;         // [B,T]: the target, kIgnoredLabel at padding
  torch::Tensor weights;        // [B] fp32; undefined: all 1
  torch::Tensor counts;         // [3] float64: total target weight, source tokens, target tokens

  std::array<torch::Tensor*, 6> parts();  // all of the above; some may be undefined
};

ModelBatch to_model_batch(const Batch& batch, const ModelConfig& config, torch::Device device);

}  // namespace convseq
