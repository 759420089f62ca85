#include "convseq/train/step/train_step.h"

#include <ATen/OpMathType.h>
#include <torch/types.h>
#include <torch/utils.h>

#include <cmath>

#include "convseq/base/error.h"
#include "convseq/ops/linear.h"
#include "convseq/train/optim/clip.h"
#include "convseq/train/step/class_loss.h"
#include "convseq/train/step/token_loss.h"

namespace convseq {
namespace {

// Sums over micro-batches and processes, and the gradient norm, in one tensor on the device: one
// synchronisation per step instead of three per micro-batch.
enum Sum { kLoss, kNll, kCorrect, kWeight, kSourceTokens, kTargetTokens, kNorm, kSums };

torch::Tensor no_sums(torch::Device device) {
  return torch::zeros({kSums}, torch::TensorOptions(device).dtype(torch::kFloat64));
}

void add(const torch::Tensor& sums, const ModelBatch& batch, const TokenLoss& loss) {
  sums.slice(0, 0, kNorm) += torch::cat(
      {torch::stack({loss.loss_sum.detach().to(torch::kFloat64),
                     loss.nll_sum.detach().to(torch::kFloat64), loss.correct.to(torch::kFloat64)}),
       batch.counts});
}

StepResult means(const torch::Tensor& sums) {  // on the host
  const auto sum = [&](Sum which) { return sums.const_data_ptr<double>()[which]; };
  const double tokens = std::max(sum(kTargetTokens), 1.0);
  return {.loss = sum(kLoss) / std::max(sum(kWeight), 1e-9),
          .nll = sum(kNll) / tokens,
          .accuracy = sum(kCorrect) / tokens,
          .gradient_norm = sum(kNorm),
          .source_tokens = static_cast<int64_t>(sum(kSourceTokens)),
          .target_tokens = static_cast<int64_t>(sum(kTargetTokens))};
}

bool is_finite(const StepResult& result) {
  return std::isfinite(result.loss) && std::isfinite(result.gradient_norm);
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
                     .chunk_tokens = loss_chunk_tokens(inputs.labels.numel(), decoded.device())});
}

torch::Tensor wide(const torch::Tensor& x) { return x.to(at::toOpMathType(x.scalar_type())); }

TokenLoss head_loss_of(Seq2Seq& model, const ModelBatch& inputs, const TrainStepOptions& options) {
  const auto encoded = model.encode(inputs.source, inputs.source_lengths);
  const auto logits = wide(model.classify(encoded, inputs.source_lengths));
  const ClassLossOptions loss{.label_smoothing = options.label_smoothing,
                              .weights = inputs.weights,
                              .positives = options.positive_weights};
  return model.config().label_kind == LabelKind::Multi ? label_set_loss(logits, inputs.labels, loss)
                                                       : class_loss(logits, inputs.labels, loss);
}

TokenLoss loss_of(Seq2Seq& model, const ModelBatch& inputs, const TrainStepOptions& options) {
  return options.pooled ? head_loss_of(model, inputs, options)
                        : token_loss_of(model, inputs, options);
}

// Drops empty batches. A process without rows still takes part in the all-reduces.
std::vector<ModelBatch> filled(const std::vector<Batch>& batches, const Seq2Seq& model,
                               torch::Device device) {
  std::vector<ModelBatch> result;
  for (const Batch& batch : batches) {
    if (batch.rows == 0) continue;
    result.push_back(to_model_batch(batch, model.config(), device));
  }
  return result;
}

std::vector<torch::Tensor> tensors_of(const TensorMap& map) {
  std::vector<torch::Tensor> tensors;
  for (const auto& [name, tensor] : map) tensors.push_back(tensor);
  return tensors;
}

// The weight of all real targets of all processes, by which the loss is divided.
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
      // Recomputation accumulates gradients in another order than the one in which buckets are
      // sent.
      buckets_(communicator, model.parameters(),
               {.overlap = !options.recompute, .masters = weights.masters_of(model.parameters())}) {
  model_.recompute_blocks(options.recompute);
  const auto device = model_.output_matrix().device();
  if (options_.positive_weights.defined()) {
    options_.positive_weights = options_.positive_weights.to(
        device, at::toOpMathType(model_.output_matrix().scalar_type()));
  }
  if (can_be_captured(device)) graphs_.emplace(device, options.capture.max_graphs);
}

// All-reduces with other processes and the nested backward pass of recomputation need the host.
bool TrainStep::can_be_captured(torch::Device device) const {
  return options_.graph && device.is_cuda() && optimizer_.steps_on_device() &&
         communicator_.size() == 1 && !options_.recompute;
}

StepResult TrainStep::run(const std::vector<Batch>& micro_batches, double learning_rate) {
  require(started_.empty(), "train step: {} steps are under way", started_.size());
  start(micro_batches, learning_rate);
  return finish();
}

void TrainStep::start(const std::vector<Batch>& micro_batches, double learning_rate) {
  model_.train();
  // A captured step copies its inputs from the host itself, without synchronising.
  const auto device = graphs_ ? torch::Device(torch::kCPU) : model_.output_matrix().device();
  const StepInputs inputs{.batches = filled(micro_batches, model_, device),
                          .total_weight = total_weight(micro_batches, communicator_, device)};
  if (optimizer_.steps_on_device()) {
    started_.push_back({.sums = step_on_device(inputs, learning_rate)});
  } else {
    started_.push_back({.result = step(inputs, learning_rate)});
  }
}

StepResult TrainStep::finish() {
  require(!started_.empty(), "train step: none is under way");
  const Started oldest = started_.front();
  started_.pop_front();
  if (!oldest.sums) return oldest.result;
  StepResult result = means(oldest.sums->wait());
  result.skipped = !is_finite(result);
  if (!result.skipped) optimizer_.count_step();
  return result;
}

torch::Tensor TrainStep::find_gradients(const StepInputs& inputs) {
  weights_.clear_gradients();
  const auto sums = no_sums(inputs.total_weight.device());
  if (inputs.batches.empty()) buckets_.start();
  for (const ModelBatch& batch : inputs.batches) {
    const TokenLoss loss = loss_of(model_, batch, options_);
    const bool is_last = &batch == &inputs.batches.back();
    if (is_last) buckets_.start();
    (loss.loss_sum / inputs.total_weight).backward();
    // Micro-batches are accumulated in fp32: a running sum in bf16 would lose small terms.
    if (inputs.batches.size() > 1 && (!is_last || communicator_.size() == 1)) {
      weights_.collect_gradients();
    }
    add(sums, batch, loss);
  }
  buckets_.finish();
  if (communicator_.size() > 1) communicator_.all_reduce_sum({sums});
  return sums;
}

StepResult TrainStep::step(const StepInputs& inputs, double learning_rate) {
  StepResult result = means(find_gradients(inputs).cpu());
  weights_.collect_gradients();
  result.gradient_norm = clip_by_global_norm(tensors_of(weights_.learning()), options_.clip_norm);
  result.skipped = !is_finite(result);
  if (!result.skipped) {
    optimizer_.step(learning_rate);
    weights_.publish();
  }
  return result;
}

torch::Tensor TrainStep::find_gradients_and_move(const StepInputs& inputs) {
  const auto sums = find_gradients(inputs);
  const auto norm = optimizer_.step_on_device(
      weights_.gradients(),
      {.numbers = inputs.numbers, .loss = sums[kLoss], .max_norm = options_.clip_norm});
  sums.select(0, kNorm).copy_(norm);
  return sums;
}

HostCopy TrainStep::step_on_device(StepInputs inputs, double learning_rate) {
  inputs.numbers = optimizer_.device_numbers(learning_rate, std::ssize(started_))
                       .to(inputs.total_weight.device());
  return graphs_ ? captured_step(inputs) : HostCopy(find_gradients_and_move(inputs));
}

HostCopy TrainStep::captured_step(const StepInputs& on_host) {
  Tensors inputs;
  for (const auto& each : on_host.to_list()) {
    inputs.push_back(each.defined() ? each.pin_memory() : each);
  }
  std::optional<HostCopy> sums;
  graphs_->run([&] {
    std::optional<ops::MatmulTuning> tuning;  // of matmul sizes that are new
    if (options_.capture.tune_matmuls) tuning.emplace();
    sums.emplace(graphs_
                     ->call("step", inputs,
                            [&](const Tensors& in) -> Tensors {
                              return {find_gradients_and_move(StepInputs::from(in))};
                            })
                     .front());
  });
  return *sums;
}

StepResult evaluate_loss(Seq2Seq& model, const std::vector<Batch>& batches,
                         Communicator& communicator) {
  const torch::NoGradGuard no_grad;
  model.eval();
  const auto sums = no_sums(model.output_matrix().device());
  for (const ModelBatch& batch : filled(batches, model, sums.device())) {
    add(sums, batch, loss_of(model, batch, {}));
  }
  if (communicator.size() > 1) communicator.all_reduce_sum({sums});
  return means(sums.cpu());
}

}  // namespace convseq
