#pragma once

#include <memory>
#include <optional>

#include "convseq/train/step/train_step.h"

namespace convseq::bench {

struct RandomBatchOptions {
  int64_t rows = 1;
  int64_t source = 512;
  int64_t target = 114;
  double padding = 0;  // share of the source that is padding, on average; 0: none
};

Batch random_batch(const ModelConfig& config, const RandomBatchOptions& options);

// Drawn where it is to live: a CPU draws 200 million normal numbers on one thread.
std::shared_ptr<Seq2Seq> random_model(const ModelConfig& config, torch::Device device);

struct TrainingModelOptions {
  torch::Device device = torch::kCPU;
  torch::Dtype type = torch::kFloat32;
  OptimizerOptions optimizer = {.kind = OptimizerKind::AdamW};  // the peers'
  TrainStepOptions step;
  double max_memory = 0;  // bytes; 0: what is free
};

// A freshly drawn model with all that one process needs to train it.
class TrainingModel {
 public:
  TrainingModel(const ModelConfig& config, const TrainingModelOptions& options);

  // Leaves the step to a GPU and waits for the one before; finish() waits for the last one too.
  void train(const Batch& batch);
  void finish();
  // Forward and backward pass of the encoder alone.
  void train_encoder(const torch::Tensor& source);

  Seq2Seq& model() { return *model_; }

 private:
  void finish_one();

  std::shared_ptr<Seq2Seq> model_;
  std::optional<MasterWeights> weights_;
  std::unique_ptr<Optimizer> optimizer_;
  std::unique_ptr<Communicator> communicator_;
  std::optional<TrainStep> step_;
};

// The most memory held from here on: of the GPU, or resident in this process.
void restart_peak_memory(torch::Device device);

// Several models share a run only where their rows can be told apart.
void check_models(const std::vector<ModelConfig>& models);

}  // namespace convseq::bench
