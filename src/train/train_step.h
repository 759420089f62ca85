#pragma once

#include <memory>
#include <vector>

#include "data/batch.h"
#include "train/gradient_buckets.h"
#include "train/master_weights.h"
#include "train/optimizer.h"
#include "train/token_loss.h"

namespace convseq {

struct TrainStepOptions {
  double clip_norm = 1.0;
  double label_smoothing = 0;
  double z_loss = 0;
  bool pooled = false;     // the head on the mean of the encoder's output; a target is its class
  bool recompute = false;  // activations in the backward pass, instead of remembering them
};

struct StepResult {
  double loss = 0;      // what was minimised, a target token
  double nll = 0;       // −log p a target token, without weights, smoothing and z-loss
  double accuracy = 0;  // share of target tokens that were the likeliest
  double gradient_norm = 0;
  int64_t source_tokens = 0;
  int64_t target_tokens = 0;
  bool skipped = false;  // loss or gradient was not finite: nothing moved
};

// One update of all processes together: the gradients of their micro-batches added up, divided by
// all real targets, clipped, stepped. Every process returns the same numbers.
class TrainStep {
 public:
  TrainStep(Seq2Seq& model, MasterWeights& weights, Optimizer& optimizer,
            Communicator& communicator, const TrainStepOptions& options);

  StepResult run(const std::vector<Batch>& micro_batches, double learning_rate);

 private:
  Seq2Seq& model_;
  MasterWeights& weights_;
  Optimizer& optimizer_;
  Communicator& communicator_;
  TrainStepOptions options_;
  GradientBuckets buckets_;
};

// The same sums without gradients and in evaluation mode: for validation.
StepResult evaluate_loss(Seq2Seq& model, const std::vector<Batch>& batches,
                         Communicator& communicator);

}  // namespace convseq
