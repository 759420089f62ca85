#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "convseq/data/batch.h"
#include "convseq/dist/gradient_buckets.h"
#include "convseq/train/optim/master_weights.h"
#include "convseq/train/optim/optimizer.h"
#include "convseq/train/step/model_batch.h"
#include "convseq/train/step/step_graph.h"
#include "convseq/train/step/token_loss.h"

namespace convseq {

struct TrainStepOptions {
  double clip_norm = 1.0;
  double label_smoothing = 0;
  double z_loss = 0;
  bool pooled = false;     // the head on the mean of the encoder's output; a target is its class
  bool recompute = false;  // activations in the backward pass, instead of remembering them
  // On a GPU, a step whose batch has the shape of those before it is captured once and replayed
  // again. It keeps the step's memory for itself: for batches that all have one shape.
  bool graph = true;
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

  // The same in two halves. Where it runs ahead, a GPU may be given the next step before it has
  // finished this one, and never waits for the host; elsewhere start() does it all.
  void start(const std::vector<Batch>& micro_batches, double learning_rate);
  StepResult finish();  // waits for the oldest that was started
  bool runs_ahead() const { return graph_ && graph_->is_captured(); }
  int64_t under_way() const { return std::ssize(started_); }

 private:
  struct Started {
    StepResult result = {};                       // already known,
    std::optional<HostCopy> sums = std::nullopt;  // or not yet
  };

  // All that differs from step to step.
  struct Inputs {
    std::vector<ModelBatch> batches = {};
    torch::Tensor total_weight;  // of all real targets of all processes, float64
    torch::Tensor numbers = {};  // the optimizer's

    Inputs on(torch::Device device) const;
    Inputs pinned() const;
    bool has_shape_of(const Inputs& other) const;  // one micro-batch each
    void copy_from(const Inputs& other);
  };

  torch::Tensor find_gradients(const Inputs& inputs);           // returns the sums
  torch::Tensor find_gradients_and_move(const Inputs& inputs);  // the same, on the device alone
  torch::Tensor captured(const Inputs& on_host);                // the same, replayed if it can be
  StepResult step(const Inputs& inputs, double learning_rate);
  HostCopy step_on_device(Inputs inputs, double learning_rate);
  bool can_be_captured(torch::Device device) const;

  Seq2Seq& model_;
  MasterWeights& weights_;
  Optimizer& optimizer_;
  Communicator& communicator_;
  TrainStepOptions options_;
  GradientBuckets buckets_;
  std::deque<Started> started_;
  std::optional<StepGraph> graph_;
  bool captures_ = true;         // false: it was tried in vain
  int same_shapes_ = 0;          // launched steps in a row with the shape of the one before
  Inputs last_;                  // of the last launched step
  Inputs captured_;              // what a captured step reads
  torch::Tensor captured_sums_;  // and what it leaves
};

// The same sums without gradients and in evaluation mode: for validation.
StepResult evaluate_loss(Seq2Seq& model, const std::vector<Batch>& batches,
                         Communicator& communicator);

}  // namespace convseq
