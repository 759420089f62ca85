#pragma once

#include <torch/types.h>

#include "convseq/data/batch.h"
#include "convseq/model/seq2seq.h"
#include "convseq/train/step/token_loss.h"

namespace convseq {

// A batch as the model and its loss take it.
struct ModelBatch {
  torch::Tensor source;         // [B,S]
  nn::Lengths source_lengths;   // undefined values: no padding
  torch::Tensor decoder_input;  // [B,T]: the start token, then the target without its last
  torch::Tensor labels;         // [B,T]: the target, kIgnoredLabel where it is padding
  torch::Tensor weights;        // [B] fp32; undefined: all 1
  torch::Tensor counts;         // [3] float64: the targets' weight, source tokens, target tokens

  ModelBatch on(torch::Device device) const;
  ModelBatch pinned() const;  // in memory that a GPU copies from while the host goes on
  void copy_from(const ModelBatch& other);  // of the same shape, pinned: does not wait
};

ModelBatch to_model_batch(const Batch& batch, const ModelConfig& config, torch::Device device);

}  // namespace convseq
