#include "convseq/infer/decode_slot.h"

#include <torch/cuda.h>
#include <torch/types.h>

#include <algorithm>
#include <array>

#include "convseq/infer/inference_scope.h"

namespace convseq {
namespace {

constexpr std::array kSelection = {
    &ops::TokenSelection::ids, &ops::TokenSelection::log_probabilities,
    &ops::TokenSelection::lengths, &ops::TokenSelection::ended, &ops::TokenSelection::next};

// Into the same memory each time.
void copy_into(torch::Tensor& to, const torch::Tensor& from) {
  if (!to.defined()) to = torch::empty_like(from);
  to.copy_(from);
}

}  // namespace

DecodeSlot::DecodeSlot(Seq2Seq& model, const DecodeShape& shape, const DecodeSlotOptions& options)
    : model_(model),
      device_(model.parameters().front().device()),
      shape_(shape),
      options_(options) {
  if (!options_.captures) return;
  stream_ = std::make_unique<GraphStream>(device_);
  start_graph_ = std::make_unique<DeviceGraph>(*stream_);
  step_graph_ = std::make_unique<DeviceGraph>(*stream_);
}

// Its graphs may still run.
DecodeSlot::~DecodeSlot() {
  if (stream_) stream_->wait();
}

void DecodeSlot::run(const std::function<void()>& work) const {
  stream_ ? stream_->run(work) : work();
}

// The state at the first position. Where it is captured, it has the same addresses in each call.
void DecodeSlot::begin(const torch::Tensor& encoded, const torch::Tensor& lengths) {
  const auto start = [&](const torch::Tensor& states, const torch::Tensor& rows) {
    const InferenceScope scope(model_);
    return model_.start(states, {rows},
                        {.capacity = options_.fixed ? shape_.tokens : 0, .cache = options_.cache});
  };
  if (!is_reusable()) {
    state_ = start(encoded, lengths);
    return;
  }
  copy_into(encoded_, encoded);
  copy_into(lengths_, lengths);
  // `encoded` and the decoding before this one are on other streams.
  torch::cuda::synchronize(device_.index());
  run([&] {
    if (!start_graph_->is_captured()) {
      start(encoded_, lengths_);  // warms up: a capture cannot load or tune kernels
      refused_ = !start_graph_->capture([&] { state_ = start(encoded_, lengths_); });
    }
    if (is_reusable()) {
      start_graph_->replay();
    } else {
      state_ = start(encoded_, lengths_);
    }
  });
}

void DecodeSlot::start(const torch::Tensor& encoded, const torch::Tensor& lengths,
                       int64_t open_rows) {
  begin(encoded, lengths);
  const ModelConfig& config = model_.config();
  run([&] {
    const auto fresh = ops::start_selection(
        shape_.rows, shape_.tokens, config.decoder_start_token_id, config.pad_token_id, device_);
    for (const auto member : kSelection) copy_into(selection_.*member, fresh.*member);
    close_from(open_rows);
  });
  steps_ = 0;
}

void DecodeSlot::step() {
  const ModelConfig& config = model_.config();
  const auto choose = [&] {
    const InferenceScope scope(model_);
    const auto logits = model_.step(selection_.next, state_);
    ops::select_token(logits, {.eos = config.eos_token_id, .pad = config.pad_token_id}, selection_);
  };
  run([&] {
    // The first step is launched: it warms up.
    if (is_reusable() && steps_ > 0 && !step_graph_->is_captured()) {
      refused_ = !step_graph_->capture(choose);
    }
    is_reusable() && step_graph_->is_captured() ? step_graph_->replay() : choose();
  });
  ++steps_;
}

void DecodeSlot::step(std::span<const int32_t> given) {
  const ModelConfig& config = model_.config();
  run([&] {
    const InferenceScope scope(model_);
    auto logits = model_.step(selection_.next, state_).squeeze(1);  // [B,V]
    if (logits.scalar_type() != torch::kFloat64) logits = logits.to(torch::kFloat32);
    auto host = torch::full({selection_.ended.size(0)}, config.pad_token_id, torch::kInt64);
    std::copy(given.begin(), given.end(), host.data_ptr<int64_t>());
    const auto tokens = host.to(logits.device());
    const auto log = logits.log_softmax(-1).gather(1, tokens.unsqueeze(1)).squeeze(1);
    const auto id = selection_.ids.select(1, steps_);
    id.copy_(tokens.masked_fill(selection_.ended, config.pad_token_id));
    selection_.log_probabilities.select(1, steps_).copy_(log.masked_fill(selection_.ended, 0));
    selection_.lengths.add_(selection_.ended.logical_not());
    selection_.next.copy_(id.unsqueeze(1));
    selection_.ended.logical_or_(tokens == config.eos_token_id);
  });
  ++steps_;
}

std::pair<torch::Tensor, torch::Tensor> DecodeSlot::read(int64_t first) const {
  std::pair<torch::Tensor, torch::Tensor> chosen;
  run([&] {
    chosen = {selection_.ids.slice(1, first, steps_).cpu(),
              selection_.log_probabilities.slice(1, first, steps_).cpu()};
  });
  return chosen;
}

void DecodeSlot::reorder(const std::vector<int64_t>& rows, int64_t open_rows) {
  run([&] {
    const auto index = torch::tensor(rows, torch::kInt64).to(device_);
    state_.reorder(index);
    for (const auto member : kSelection) nn::reorder_in_place(selection_.*member, index);
    close_from(open_rows);
  });
  if (std::ssize(rows) == shape_.rows) return;
  shape_.rows = std::ssize(rows);
  options_.captures = false;  // the graphs are of the former addresses
}

void DecodeSlot::close_from(int64_t row) { selection_.ended.slice(0, row).fill_(true); }

}  // namespace convseq
