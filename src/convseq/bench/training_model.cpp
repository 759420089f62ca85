#include "convseq/bench/training_model.h"

#include <ATen/DeviceAccelerator.h>
#include <malloc.h>
#include <torch/types.h>

#include <algorithm>
#include <fstream>
#include <set>

#include "convseq/base/error.h"
#include "convseq/base/random.h"

namespace convseq::bench {
namespace {

constexpr uint64_t kSeed = 1;
constexpr double kLearningRate = 1e-3;
constexpr int64_t kFirstWord = 2;  // after padding and EOS

std::vector<int64_t> random_ids(const ModelConfig& config, int64_t count, Random& random) {
  std::vector<int64_t> ids(static_cast<size_t>(count));
  const auto words = static_cast<uint64_t>(config.vocab_size - kFirstWord);
  for (int64_t& id : ids) id = kFirstWord + static_cast<int64_t>(random.below(words));
  return ids;
}

}  // namespace

Batch random_batch(const ModelConfig& config, const RandomBatchOptions& options) {
  Random random(kSeed);
  Batch batch{.rows = options.rows,
              .source_width = options.source,
              .target_width = options.target,
              .source = random_ids(config, options.rows * options.source, random),
              .target = random_ids(config, options.rows * options.target, random)};
  const auto length = [&](int64_t width) {  // evenly from (1 − 2·padding) to all of the width
    const double share = 1 - 2 * options.padding * random.uniform();
    return std::max<int64_t>(1, std::llround(share * static_cast<double>(width)));
  };
  for (int64_t row = 0; row < options.rows; ++row) {
    batch.source_lengths.push_back(length(options.source));
    batch.target_lengths.push_back(options.target);
  }
  return batch;
}

std::shared_ptr<Seq2Seq> random_model(const ModelConfig& config, torch::Device device) {
  auto model = std::make_shared<Seq2Seq>(config);
  model->to(device);
  torch::Generator random = at::globalContext().defaultGenerator(device);
  random.set_current_seed(kSeed);
  model->initialise(random);
  return model;
}

TrainingModel::TrainingModel(const ModelConfig& config, const TrainingModelOptions& options)
    : model_(random_model(config, options.device)), communicator_(make_single_communicator()) {
  weights_.emplace(*model_, options.type);
  optimizer_ = make_optimizer(options.optimizer, weights_->learning());
  step_.emplace(*model_, *weights_, *optimizer_, *communicator_, options.step);
}

void TrainingModel::train(const Batch& batch) {
  step_->start({batch}, kLearningRate);
  while (step_->under_way() > (step_->runs_ahead() ? 1 : 0)) finish_one();
}

void TrainingModel::finish() {
  while (step_->under_way() > 0) finish_one();
}

void TrainingModel::finish_one() {
  require(!step_->finish().skipped, "a training step on random tokens was not finite");
}

void TrainingModel::train_encoder(const torch::Tensor& source) {
  model_->train();
  weights_->clear_gradients();
  const auto encoded = model_->encode(source, {});
  // Any gradient costs the same; this one needs no random numbers.
  encoded.backward(encoded.detach());
}

void restart_peak_memory(torch::Device device) {
  if (device.is_cuda()) {
    at::globalContext().lazyInitDevice(device.type());  // until then the allocator knows no device
    at::accelerator::emptyCache();
    at::accelerator::resetPeakStats(std::max<c10::DeviceIndex>(device.index(), 0));
    return;
  }
  ::malloc_trim(0);
  std::ofstream("/proc/self/clear_refs") << "5";  // Linux: the peak starts from what is held now
}

void check_models(const std::vector<ModelConfig>& models) {
  std::set<MixerKind> seen;
  for (const ModelConfig& config : models) {
    require(seen.insert(config.mixer).second,
            "{}: two with mixer {}; rows are named after the mixer: measure them in separate runs",
            OptionName("models"), name_of(config.mixer));
  }
}

}  // namespace convseq::bench
