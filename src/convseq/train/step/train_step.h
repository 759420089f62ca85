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

namespace convseq {

struct CaptureOptions {
  int64_t max_graphs = 16;  // a new graph replaces the least recently used one
  // Times several algorithms for the matmuls of each shape before it is captured. Steps are faster,
  // but the choice, and with it the last bits of the results, may differ between runs.
  bool tune_matmuls = true;
};

struct TrainStepOptions {
  double clip_norm = 1.0;
  double label_smoothing = 0;
  double z_loss = 0;
  // A head on the mean encoder output. A target is its class or, for LabelKind::Multi, a 0 or 1 for
  // each class.
  bool pooled = false;
  torch::Tensor positive_weights = {};  // [classes]: of the ones of LabelKind::Multi; default 1
  bool recompute = false;               // activation checkpointing: recompute in the backward pass
  // On a GPU, a step is captured as a CUDA graph when the shapes of its batches occur for the
  // second time, and replayed from then on. Graphs keep their memory, so batches should have few
  // shapes.
  bool graph = true;
  CaptureOptions capture = {};
};

struct StepResult {
  double loss = 0;      // training loss per unit of target weight (unweighted: per target token)
  double nll = 0;       // −log p per target token, without weights, smoothing and z-loss
  double accuracy = 0;  // fraction of target tokens that are the most likely token
  double gradient_norm = 0;
  int64_t source_tokens = 0;
  int64_t target_tokens = 0;
  bool skipped = false;  // loss or gradient norm was not finite; nothing was updated
};

// One update by all processes: sums the gradients of all micro-batches, divides by the total target
// weight, clips and steps. All processes return the same result.
class TrainStep {
 public:
  TrainStep(Seq2Seq& model, MasterWeights& weights, Optimizer& optimizer,
            Communicator& communicator, const TrainStepOptions& options);
  TrainStep(const TrainStep&) = delete;
  TrainStep& operator=(const TrainStep&) = delete;

  StepResult run(const std::vector<Batch>& micro_batches, double learning_rate);

  // The same in two halves. If runs_ahead(), start() only queues the step, and the next one may be
  // started before this one has finished, so that the GPU never waits for the host. Otherwise
  // start() does all the work.
  void start(const std::vector<Batch>& micro_batches, double learning_rate);
  StepResult finish();  // waits for the oldest step in flight
  bool runs_ahead() const { return graphs_.has_value(); }
  int64_t under_way() const { return std::ssize(started_); }
  CaptureTotals captures() const { return graphs_ ? graphs_->totals() : CaptureTotals(); }

 private:
  struct Started {
    StepResult result = {};                       // if the step has finished,
    std::optional<HostCopy> sums = std::nullopt;  // otherwise
  };

  torch::Tensor find_gradients(const StepInputs& inputs);           // returns the sums
  torch::Tensor find_gradients_and_move(const StepInputs& inputs);  // and updates the weights
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

// The same means in evaluation mode and without gradients, for validation.
StepResult evaluate_loss(Seq2Seq& model, const std::vector<Batch>& batches,
                         Communicator& communicator);

}  // namespace convseq
