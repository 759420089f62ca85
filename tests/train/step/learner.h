#pragma once

#include "convseq/spec/presets.h"
#include "convseq/train/step/train_step.h"
#include "tensor_checks.h"
#include "train/random_batch.h"

namespace convseq::testing {

inline constexpr int64_t kLearnerVocabulary = 100;

inline Batch learner_batch(int64_t rows, int64_t source, int64_t target) {
  return random_batch(
      {.rows = rows, .source = source, .target = target, .ids = kLearnerVocabulary});
}

// A tiny model with its master weights, optimizer and training step.
struct Learner {
  Learner(const std::string& name, torch::Device device, torch::Dtype type,
          const OptimizerOptions& optimizer_options, const TrainStepOptions& options,
          int64_t d_kv = 16, const std::vector<std::string>& overrides = {}, bool frozen = false)
      : model(find_model_config(name, all_overrides(d_kv, overrides))) {
    model.initialise(/*seed=*/7);
    if (frozen) model.freeze_encoder();
    model.to(device);
    weights.emplace(model, type);
    optimizer = make_optimizer(optimizer_options, weights->learning());
    step.emplace(model, *weights, *optimizer, *communicator, options);
  }

  // Step i uses seed i.
  std::vector<StepResult> learn(const std::vector<Batch>& batches, int64_t micro_batch = 0) {
    std::vector<StepResult> results;
    for (const Batch& batch : batches) {
      torch::manual_seed(results.size());
      results.push_back(step->run(cut_batch(batch, micro_batch), learning_rate));
    }
    return results;
  }

  static std::vector<std::string> all_overrides(int64_t d_kv, std::vector<std::string> more) {
    more.insert(more.begin(), {"vocab_size=100", "d_model=32", "d_ff=64", "heads=2",
                               fmt::format("d_kv={}", d_kv)});
    return more;
  }

  Seq2Seq model;
  std::unique_ptr<Communicator> communicator = make_single_communicator();
  std::optional<MasterWeights> weights;
  std::unique_ptr<Optimizer> optimizer;
  std::optional<TrainStep> step;
  double learning_rate = 0.01;
};

inline void expect_same_weights(const Learner& a, const Learner& b, double tolerance) {
  for (const auto& [name, value] : a.weights->values()) {
    expect_close(value, b.weights->values().at(name), tolerance, name);
  }
}

}  // namespace convseq::testing
