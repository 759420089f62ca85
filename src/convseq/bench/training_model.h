#pragma once

#include <memory>
#include <optional>

#include "convseq/train/step/train_step.h"

namespace convseq::bench {

struct RandomBatchOptions {
  int64_t rows = 1;
  int64_t source = 512;
  int64_t target = 114;
  double padding = 0;  // mean fraction of padding in the source
};

Batch random_batch(const ModelConfig& config, const RandomBatchOptions& options);

// Initialised on its device: a CPU draws 200 million normal numbers on one thread.
std::shared_ptr<Seq2Seq> random_model(const ModelConfig& config, torch::Device device);

struct TrainingModelOptions {
  torch::Device device = torch::kCPU;
  torch::Dtype type = torch::kFloat32;
  OptimizerOptions optimizer = {.kind = OptimizerKind::AdamW};  // as the peers use
  TrainStepOptions step;
  double max_memory = 0;  // bytes; 0: the free memory
};

// A randomly initialised model with everything that one process needs to train it.
class TrainingModel {
 public:
  TrainingModel(const ModelConfig& config, const TrainingModelOptions& options);

  // Enqueues the step on a GPU and waits for the previous one; finish() waits for the last one.
  void train(const Batch& batch);
  void finish();
  // Forward and backward pass of the encoder alone.
  void train_encoder(const torch::Tensor& source);

  Seq2Seq& model() { return *model_; }
  CaptureTotals captures() const { return step_->captures(); }

 private:
  void finish_one();

  std::shared_ptr<Seq2Seq> model_;
  std::optional<MasterWeights> weights_;
  std::unique_ptr<Optimizer> optimizer_;
  std::unique_ptr<Communicator> communicator_;
  std::optional<TrainStep> step_;
};

// Peak memory from here on: of the GPU, or resident in this process.
void restart_peak_memory(torch::Device device);

// Throws if two models would have the same row names.
void check_models(const std::vector<ModelConfig>& models);

}  // namespace convseq::bench
