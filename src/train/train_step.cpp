#include "train/train_step.h"

#include <torch/torch.h>

#include <cmath>
#include <numeric>

#include "train/clip.h"
#include "train/model_batch.h"

namespace convseq {
namespace {

// Adds a micro-batch's sums to the result; they become means at the end.
struct Sums {
  StepResult result;
  double correct = 0;

  void add(const Batch& batch, const TokenLoss& loss) {
    result.loss += loss.loss_sum.item<double>();
    result.nll += loss.nll_sum.item<double>();
    correct += static_cast<double>(loss.correct.item<int64_t>());
    result.target_tokens += target_tokens(batch);
    result.source_tokens +=
        std::accumulate(batch.source_lengths.begin(), batch.source_lengths.end(), int64_t{0});
  }

  StepResult means() const {
    StepResult means = result;
    const auto tokens = static_cast<double>(std::max<int64_t>(result.target_tokens, 1));
    means.loss /= tokens;
    means.nll /= tokens;
    means.accuracy = correct / tokens;
    return means;
  }
};

TokenLoss loss_of(Seq2Seq& model, const Batch& batch, const TrainStepOptions& options) {
  const ModelBatch inputs = to_model_batch(batch, model.config(), model.output_matrix().device());
  const auto encoded = model.encode(inputs.source, inputs.source_lengths);
  const auto decoded = model.decode(inputs.decoder_input, encoded, inputs.source_lengths);
  return token_loss(decoded.flatten(0, 1), model.output_matrix(), inputs.labels.flatten(),
                    {.output_scale = model.output_scale(),
                     .label_smoothing = options.label_smoothing,
                     .z_loss = options.z_loss});
}

std::vector<torch::Tensor> tensors_of(const TensorMap& map) {
  std::vector<torch::Tensor> tensors;
  for (const auto& [name, tensor] : map) tensors.push_back(tensor);
  return tensors;
}

}  // namespace

StepResult TrainStep::run(const std::vector<Batch>& micro_batches, double learning_rate) {
  model_.train();
  weights_.clear_gradients();
  int64_t tokens = 0;
  for (const Batch& batch : micro_batches) tokens += target_tokens(batch);
  Sums sums;
  for (const Batch& batch : micro_batches) {
    const TokenLoss loss = loss_of(model_, batch, options_);
    (loss.loss_sum / static_cast<double>(std::max<int64_t>(tokens, 1))).backward();
    sums.add(batch, loss);
  }
  weights_.collect_gradients();
  StepResult result = sums.means();
  result.gradient_norm = clip_by_global_norm(tensors_of(weights_.values()), options_.clip_norm);
  result.skipped = !std::isfinite(result.loss) || !std::isfinite(result.gradient_norm);
  if (!result.skipped) {
    optimizer_.step(learning_rate);
    weights_.publish();
  }
  return result;
}

StepResult evaluate_loss(Seq2Seq& model, const std::vector<Batch>& batches) {
  const torch::NoGradGuard no_grad;
  model.eval();
  Sums sums;
  for (const Batch& batch : batches) sums.add(batch, loss_of(model, batch, {}));
  return sums.means();
}

}  // namespace convseq
