#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "convseq/data/batch.h"
#include "convseq/dist/gradient_buckets.h"
#include "convseq/train/optim/master_weights.h"
#include "convseq/train/optim/optimizer.h"
#include "convseq/train/step/step_inputs.h"
#include "convseq/train/step/token_loss.h"

namespace convseq {

struct CaptureOptions {
  int64_t max_graphs = 16;  // the least recently used is dropped for a new one
  // Times the matmuls of each shape with several algorithms before it is captured. Steps are
  // faster, but the choice may differ from run to run, and with it the last bits of the results.
  bool tune_matmuls = true;
};

struct TrainStepOptions {
  double clip_norm = 1.0;
  double label_smoothing = 0;
  double z_loss = 0;
  bool pooled = false;     // the head on the mean of the encoder's output; a target is its class
  bool recompute = false;  // activations in the backward pass, instead of remembering them
  // On a GPU, a step whose batches have a shape for the second time is captured as a CUDA graph and
  // replayed from then on. The graphs keep their memory: for batches of few shapes.
  bool graph = true;
  CaptureOptions capture = {};
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
  TrainStep(const TrainStep&) = delete;
  TrainStep& operator=(const TrainStep&) = delete;

  StepResult run(const std::vector<Batch>& micro_batches, double learning_rate);

  // The same in two halves. Where it runs ahead, a GPU may be given the next step before it has
  // finished this one, and never waits for the host; elsewhere start() does it all.
  void start(const std::vector<Batch>& micro_batches, double learning_rate);
  StepResult finish();  // waits for the oldest that was started
  bool runs_ahead() const { return graphs_.has_value(); }
  int64_t under_way() const { return std::ssize(started_); }
  CaptureTotals captures() const { return graphs_ ? graphs_->totals() : CaptureTotals(); }

 private:
  struct Started {
    StepResult result = {};                       // already known,
    std::optional<HostCopy> sums = std::nullopt;  // or not yet
  };

  torch::Tensor find_gradients(const StepInputs& inputs);           // returns the sums
  torch::Tensor find_gradients_and_move(const StepInputs& inputs);  // the same, on the device alone
  StepResult step(const StepInputs& inputs, double learning_rate);
  HostCopy step_on_device(StepInputs inputs, double learning_rate);
  HostCopy captured_step(const StepInputs& on_host);
  bool can_be_captured(torch::Device device) const;

  Seq2Seq& model_;
  MasterWeights& weights_;
  Optimizer& optimizer_;
  Communicator& communicator_;
  TrainStepOptions options_;
  GradientBuckets buckets_;
  std::deque<Started> started_;
  std::optional<GraphCache> graphs_;
};

// The same sums without gradients and in evaluation mode: for validation.
StepResult evaluate_loss(Seq2Seq& model, const std::vector<Batch>& batches,
                         Communicator& communicator);

}  // namespace convseq
