#pragma once

#include "convseq/infer/padded_ids.h"
#include "convseq/model/seq2seq.h"

namespace convseq {

struct LabelScorerOptions {
  bool per_token = false;  // the mean over a label's tokens, so that long labels are not penalised
  int64_t max_rows = 512;  // pairs of source and label decoded at once
};

// How likely each of a task's labels is as the answer: log p(label, EOS | source). Every label has
// a score, whereas a greedy answer may be none of the labels.
class LabelScorer {
 public:
  // `labels` as the tokenizer gives them, without an EOS.
  LabelScorer(Seq2Seq& model, const std::vector<TokenIds>& labels, LabelScorerOptions options = {});

  torch::Tensor score(const PaddedIds& source) const;  // [B,K], fp32 (float64 of a float64 model)
  const Seq2Seq& model() const { return model_; }

 private:
  torch::Tensor score_encoded(const torch::Tensor& encoded, const nn::Lengths& lengths) const;

  Seq2Seq& model_;
  LabelScorerOptions options_;
  PaddedIds targets_;  // [K,T], each label closed by an EOS
};

}  // namespace convseq
