#include "train/train_step.h"

#include <ATen/OpMathType.h>
#include <torch/torch.h>

#include <cmath>

#include "train/clip.h"
#include "train/model_batch.h"

namespace convseq {
namespace {

// Adds up what micro-batches and processes give. The sums stay on the device until means(): one
// wait a step, not three a micro-batch.
class Sums {
 public:
  explicit Sums(torch::Device device)
      : sums_(torch::zeros({kCount}, torch::TensorOptions(device).dtype(torch::kFloat64))) {}

  void add(const Batch& batch, const TokenLoss& loss) {
    const auto tokens =
        torch::tensor({batch.target_weight(), static_cast<double>(batch.source_tokens()),
                       static_cast<double>(batch.target_tokens())},
                      torch::kFloat64);
    sums_ += torch::cat({torch::stack({loss.loss_sum.detach().to(torch::kFloat64),
                                       loss.nll_sum.detach().to(torch::kFloat64),
                                       loss.correct.to(torch::kFloat64)}),
                         tokens.to(sums_.device(), /*non_blocking=*/true)});
  }

  StepResult means(Communicator& communicator) {
    if (communicator.size() > 1) communicator.all_reduce_sum({sums_});
    const auto all = sums_.cpu();
    const auto sum = [&](Sum which) { return all[which].item<double>(); };
    const double tokens = std::max(sum(kTargetTokens), 1.0);
    return {.loss = sum(kLoss) / std::max(sum(kWeight), 1e-9),
            .nll = sum(kNll) / tokens,
            .accuracy = sum(kCorrect) / tokens,
            .source_tokens = static_cast<int64_t>(sum(kSourceTokens)),
            .target_tokens = static_cast<int64_t>(sum(kTargetTokens))};
  }

 private:
  enum Sum { kLoss, kNll, kCorrect, kWeight, kSourceTokens, kTargetTokens, kCount };
  torch::Tensor sums_;
};

// A GPU wants large products and has the memory; a CPU's caches want small ones.
int64_t chunk_tokens(int64_t tokens, torch::Device device) {
  if (device.is_cpu()) return TokenLossOptions{}.chunk_tokens;
  constexpr int64_t kMost = 4096;
  const int64_t chunks = (tokens + kMost - 1) / kMost;
  return std::max<int64_t>(1, (tokens + chunks - 1) / std::max<int64_t>(1, chunks));
}

TokenLoss token_loss_of(Seq2Seq& model, const ModelBatch& inputs, const TrainStepOptions& options) {
  const auto encoded = model.encode(inputs.source, inputs.source_lengths);
  const auto decoded = model.decode(inputs.decoder_input, encoded, inputs.source_lengths);
  const auto weights = inputs.weights.defined()
                           ? inputs.weights.repeat_interleave(inputs.labels.size(1))
                           : torch::Tensor();
  return token_loss(decoded.flatten(0, 1), model.output_matrix(), inputs.labels.flatten(),
                    {.output_scale = model.output_scale(),
                     .label_smoothing = options.label_smoothing,
                     .z_loss = options.z_loss,
                     .weights = weights,
                     .chunk_tokens = chunk_tokens(inputs.labels.numel(), decoded.device())});
}

torch::Tensor wide(const torch::Tensor& x) { return x.to(at::toOpMathType(x.scalar_type())); }

// Few classes: their logits may be held whole.
TokenLoss class_loss_of(Seq2Seq& model, const ModelBatch& inputs, const TrainStepOptions& options) {
  const auto encoded = model.encode(inputs.source, inputs.source_lengths);
  const auto logits = wide(model.classify(encoded, inputs.source_lengths));
  const auto labels = inputs.labels.flatten();
  const auto log_p = logits.log_softmax(1);
  const auto nll = -log_p.gather(1, labels.unsqueeze(1)).squeeze(1);
  auto loss = nll * (1 - options.label_smoothing) - log_p.mean(1) * options.label_smoothing;
  if (inputs.weights.defined()) loss = loss * inputs.weights;
  return {.loss_sum = loss.sum(torch::kFloat64),
          .nll_sum = nll.sum(torch::kFloat64),
          .z_loss_sum = torch::zeros({}, loss.options()),
          .correct = (logits.argmax(1) == labels).sum(),
          .tokens = torch::tensor(labels.numel())};
}

TokenLoss loss_of(Seq2Seq& model, const Batch& batch, const TrainStepOptions& options) {
  const ModelBatch inputs = to_model_batch(batch, model.config(), model.output_matrix().device());
  return options.pooled ? class_loss_of(model, inputs, options)
                        : token_loss_of(model, inputs, options);
}

std::vector<torch::Tensor> tensors_of(const TensorMap& map) {
  std::vector<torch::Tensor> tensors;
  for (const auto& [name, tensor] : map) tensors.push_back(tensor);
  return tensors;
}

// Of all real targets of all processes, on the model's device: what the loss is divided by.
torch::Tensor total_weight(const std::vector<Batch>& batches, Communicator& communicator,
                           torch::Device device) {
  double weight = 0;
  for (const Batch& batch : batches) weight += batch.target_weight();
  const auto total = torch::tensor(weight, torch::kFloat64).to(device);
  if (communicator.size() > 1) communicator.all_reduce_sum({total});
  return total.clamp_min(1e-9);
}

}  // namespace

TrainStep::TrainStep(Seq2Seq& model, MasterWeights& weights, Optimizer& optimizer,
                     Communicator& communicator, const TrainStepOptions& options)
    : model_(model),
      weights_(weights),
      optimizer_(optimizer),
      communicator_(communicator),
      options_(options),
      // Recomputation adds gradients outside the order in which buckets are sent.
      buckets_(communicator, model.parameters(), {.overlap = !options.recompute}) {
  model_.recompute_blocks(options.recompute);
}

StepResult TrainStep::run(const std::vector<Batch>& micro_batches, double learning_rate) {
  model_.train();
  weights_.clear_gradients();
  const auto device = model_.output_matrix().device();
  const auto total = total_weight(micro_batches, communicator_, device);
  Sums sums(device);
  // A process may have no rows of a small batch; it takes part in the sums all the same.
  std::vector<const Batch*> filled;
  for (const Batch& batch : micro_batches) {
    if (batch.rows > 0) filled.push_back(&batch);
  }
  if (filled.empty()) buckets_.start();
  for (const Batch* batch : filled) {
    const TokenLoss loss = loss_of(model_, *batch, options_);
    if (batch == filled.back()) buckets_.start();
    (loss.loss_sum / total).backward();
    sums.add(*batch, loss);
  }
  buckets_.finish(1);
  weights_.collect_gradients();
  StepResult result = sums.means(communicator_);
  result.gradient_norm = clip_by_global_norm(tensors_of(weights_.learning()), options_.clip_norm);
  result.skipped = !std::isfinite(result.loss) || !std::isfinite(result.gradient_norm);
  if (!result.skipped) {
    optimizer_.step(learning_rate);
    weights_.publish();
  }
  return result;
}

StepResult evaluate_loss(Seq2Seq& model, const std::vector<Batch>& batches,
                         Communicator& communicator) {
  const torch::NoGradGuard no_grad;
  model.eval();
  Sums sums(model.output_matrix().device());
  for (const Batch& batch : batches) {
    if (batch.rows > 0) sums.add(batch, loss_of(model, batch, {}));
  }
  return sums.means(communicator);
}

}  // namespace convseq
