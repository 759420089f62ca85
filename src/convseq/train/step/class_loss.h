#pragma once

#include "convseq/train/step/token_loss.h"

namespace convseq {

struct ClassLossOptions {
  double label_smoothing = 0;    // probability mass spread evenly over the classes
  torch::Tensor weights = {};    // [B] fp32: per-row weights in loss_sum; undefined: all 1
  torch::Tensor positives = {};  // [K] fp32: weights of true labels, of label_set_loss; likewise
};

// The losses of a classification head, as sums over the real targets: logits [B,K] in fp32 or
// fp64, kIgnoredLabel in padding rows. There are few classes, so all logits fit in memory.

// Softmax cross-entropy: labels [B,1], the class of each row.
TokenLoss class_loss(const torch::Tensor& logits, const torch::Tensor& labels,
                     const ClassLossOptions& options);

// Binary cross-entropy of K sigmoids: labels [B,K], 1 for a label that the row has and 0 for one
// that it does not have. Each of the K labels of a row is a target.
TokenLoss label_set_loss(const torch::Tensor& logits, const torch::Tensor& labels,
                         const ClassLossOptions& options);

}  // namespace convseq
