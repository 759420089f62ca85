#include "convseq/infer/torch_engine.h"

#include <torch/cuda.h>
#include <torch/types.h>

#include <algorithm>
#include <bit>

#include "convseq/base/error.h"
#include "convseq/infer/batch_shape.h"
#include "convseq/infer/decode_slots.h"
#include "convseq/infer/inference_scope.h"
#include "convseq/infer/padded_ids.h"
#include "convseq/infer/token_likelihood.h"

namespace convseq {
namespace {

struct TorchEncoded : Engine::Encoded {
  torch::Tensor states = {};  // [B,S,d]
  nn::Lengths lengths = {};
  int64_t rows = 0;  // those of the caller; the rest of B is padding
};

struct TorchDecoding : Engine::Decoding {
  ~TorchDecoding() override {
    if (slot) slots->give_back(std::move(slot));
  }

  std::shared_ptr<DecodeSlots> slots;
  std::unique_ptr<DecodeSlot> slot;
  int64_t rows = 0;  // those of the caller
  int64_t steps_read = 0;
};

ClassScores to_host(const torch::Tensor& scores, int64_t rows) {  // [B,K]
  const auto host = scores.to(torch::kFloat64).cpu().contiguous();
  ClassScores result;
  for (int64_t row = 0; row < rows; ++row) {
    const double* first = host.data_ptr<double>() + row * host.size(1);
    result.emplace_back(first, first + host.size(1));
  }
  return result;
}

// The score of each pair of source and label: encoder output [B,S,d], lengths [B], labels [K,T],
// positions of the labels' tokens in [K,T] -> [B,K].
Tensors label_scores(Seq2Seq& model, const Tensors& in) {
  const auto &encoded = in[0], &labels = in[2], &positions = in[3];
  const int64_t batch = encoded.size(0), count = labels.size(0);
  const auto rows = torch::arange(batch, labels.options());
  // The source's keys and values are computed once per row, then repeated for each label.
  DecodeState state = model.start(encoded, {in[1]});
  state.reorder(rows.unsqueeze(1).expand({batch, count}).flatten());
  const auto targets = labels.repeat({batch, 1});  // [B·K,T]
  const auto decoded = model.decode(decoder_inputs(model.config(), targets), state);
  const auto all = (rows.unsqueeze(1) * labels.numel() + positions).flatten();
  const auto likelihood = token_likelihood(model, decoded, targets, all);
  return {row_sums(likelihood.log, all, targets.sizes()).view({batch, count})};
}

// Teacher forcing: encoder output [B,S,d], lengths [B], targets [B,T], positions of their tokens in
// [B,T] -> the sums of the log-probabilities [B] float64 and of the right tokens [B] int64.
Tensors target_likelihood(Seq2Seq& model, const Tensors& in) {
  const auto &targets = in[2], &positions = in[3];
  const auto decoded =
      model.decode(decoder_inputs(model.config(), targets), in[0], nn::Lengths{in[1]});
  const auto likelihood = token_likelihood(model, decoded, targets, positions);
  return {row_sums(likelihood.log.to(torch::kFloat64), positions, targets.sizes()),
          row_sums(likelihood.right.to(torch::kInt64), positions, targets.sizes())};
}

}  // namespace

TorchEngine::TorchEngine(Seq2Seq& model, const TorchEngineOptions& options)
    : model_(model), options_(options), weights_(model.parameters()) {}

DecodePace TorchEngine::pace() const {
  if (device().is_cpu()) return {.steps_between_reads = 1, .compact_below = 1};
  // A captured step takes as long with fewer rows, and another number of rows is not captured.
  return {.steps_between_reads = 16, .compact_below = 0};
}

void TorchEngine::run(const std::function<void()>& work) { graphs_ ? graphs_->run(work) : work(); }

Tensors TorchEngine::call(const std::string& function, const Tensors& inputs,
                          const std::function<Tensors(const Tensors&)>& body) {
  const auto infer = [&](const Tensors& in) {
    const InferenceScope scope(model_);
    return body(in);
  };
  return graphs_ ? graphs_->call(function, inputs, infer) : infer(inputs);
}

// Another stream may have written the weights, and a conversion may have moved them.
void TorchEngine::follow_weights() {
  const bool captures = device().is_cuda() && options_.graphs;
  if (captures) torch::cuda::synchronize(device().index());
  std::vector<const void*> addresses;
  for (const auto& each : weights_) addresses.push_back(each.const_data_ptr());
  if (addresses == addresses_) return;
  addresses_ = std::move(addresses);
  // On a CPU a state that grows is faster: no step reads positions that are not there yet.
  slots_ = std::make_shared<DecodeSlots>(
      model_, DecodeSlotOptions{.fixed = device().is_cuda() || pads_shapes(),
                                .captures = captures,
                                .cache = options_.cache});
  graphs_ = captures ? std::make_unique<GraphCache>(device()) : nullptr;
}

std::unique_ptr<Engine::Encoded> TorchEngine::encode(const std::vector<TokenIds>& sources) {
  follow_weights();
  PadOptions options{.pad_token = config().pad_token_id, .device = device()};
  if (pads_shapes()) {
    options.min_rows = padded_rows(std::ssize(sources));
    options.min_width = padded_width(config(), std::max<int64_t>(1, longest(sources)));
  }
  auto encoded = std::make_unique<TorchEncoded>();
  encoded->rows = std::ssize(sources);
  run([&] {
    const PaddedIds source = pad(sources, options);
    encoded->lengths = source.lengths;
    encoded->states = call("encode", {source.ids, source.lengths.values}, [&](const Tensors& in) {
      return Tensors{model_.encode(in[0], {in[1]})};
    })[0];
  });
  return encoded;
}

std::unique_ptr<Engine::Decoding> TorchEngine::start(const Encoded& base, int64_t max_tokens) {
  const auto& encoded = static_cast<const TorchEncoded&>(base);
  if (config().positions == Positions::Learned) {
    max_tokens = std::min(max_tokens, config().max_positions);
  }
  auto decoding = std::make_unique<TorchDecoding>();
  decoding->slots = slots_;
  decoding->slot = slots_->take(
      {.rows = encoded.states.size(0), .source = encoded.states.size(1), .tokens = max_tokens});
  decoding->rows = encoded.rows;
  run([&] { decoding->slot->start(encoded.states, encoded.lengths.values, encoded.rows); });
  return decoding;
}

void TorchEngine::step(Decoding& base, const Select& select) {
  DecodeSlot& slot = *static_cast<TorchDecoding&>(base).slot;
  const int64_t most = slot.shape().tokens;
  if (slot.steps() >= most && config().positions == Positions::Learned) {
    require(most < config().max_positions, "sequence of {} tokens is longer than max_positions {}",
            slot.steps() + 1, config().max_positions);
  }
  require(slot.steps() < most, "decoding was started for {} tokens; it cannot go on", most);
  run([&] { select.given.empty() ? slot.step() : slot.step(select.given); });
}

std::vector<ChosenTokens> TorchEngine::read(Decoding& base) {
  auto& decoding = static_cast<TorchDecoding&>(base);
  std::pair<torch::Tensor, torch::Tensor> chosen;
  run([&] { chosen = decoding.slot->read(decoding.steps_read); });
  const auto& [ids, log] = chosen;  // [B,steps]
  std::vector<ChosenTokens> steps(static_cast<size_t>(ids.size(1)));
  const auto id = ids.accessor<int64_t, 2>();
  const auto each = log.accessor<float, 2>();
  for (int64_t step = 0; step < ids.size(1); ++step) {
    for (int64_t row = 0; row < decoding.rows; ++row) {
      steps[static_cast<size_t>(step)].ids.push_back(static_cast<int32_t>(id[row][step]));
      steps[static_cast<size_t>(step)].log_probabilities.push_back(each[row][step]);
    }
  }
  decoding.steps_read = decoding.slot->steps();
  return steps;
}

void TorchEngine::reorder(Decoding& base, std::span<const int64_t> rows) {
  auto& decoding = static_cast<TorchDecoding&>(base);
  std::vector<int64_t> numbers(rows.begin(), rows.end());
  if (pads_shapes()) numbers.resize(static_cast<size_t>(padded_rows(std::ssize(rows))));
  decoding.rows = std::ssize(rows);
  run([&] { decoding.slot->reorder(numbers, decoding.rows); });
}

ClassScores TorchEngine::score(const Encoded& base, const std::vector<TokenIds>& targets) {
  const auto& encoded = static_cast<const TorchEncoded&>(base);
  const int64_t batch = encoded.states.size(0);
  int64_t at_once = std::max<int64_t>(1, options_.label_rows / std::ssize(targets));
  if (pads_shapes()) {  // pieces of one shape
    at_once = static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(at_once)));
  }
  ClassScores result;
  run([&] {
    const PaddedIds labels = pad(targets, {.pad_token = config().pad_token_id, .device = device()});
    const auto positions = token_positions(targets, labels);
    Tensors scores;
    for (int64_t begin = 0; begin < batch; begin += at_once) {
      const int64_t end = std::min(begin + at_once, batch);
      scores.push_back(call("score",
                            {encoded.states.slice(0, begin, end),
                             encoded.lengths.values.slice(0, begin, end), labels.ids, positions},
                            [&](const Tensors& in) { return label_scores(model_, in); })[0]);
    }
    result = to_host(torch::cat(scores), encoded.rows);
  });
  return result;
}

std::vector<TokenNll> TorchEngine::token_nll(const Encoded& base,
                                             const std::vector<TokenIds>& targets) {
  const auto& encoded = static_cast<const TorchEncoded&>(base);
  PadOptions options{.pad_token = config().pad_token_id, .device = device()};
  options.min_rows = encoded.states.size(0);
  if (pads_shapes()) {
    options.min_width = padded_width(config(), std::max<int64_t>(1, longest(targets)));
  }
  torch::Tensor log, right;
  run([&] {
    const PaddedIds target = pad(targets, options);
    const auto positions = token_positions(targets, target, pads_shapes() ? target.ids.numel() : 0);
    const Tensors sums =
        call("token_nll", {encoded.states, encoded.lengths.values, target.ids, positions},
             [&](const Tensors& in) { return target_likelihood(model_, in); });
    log = sums[0].cpu();
    right = sums[1].cpu();
  });
  std::vector<TokenNll> nlls;
  for (int64_t row = 0; row < encoded.rows; ++row) {
    nlls.push_back({.nll = -log.data_ptr<double>()[row],
                    .tokens = std::ssize(targets[static_cast<size_t>(row)]),
                    .right = right.data_ptr<int64_t>()[row]});
  }
  return nlls;
}

ClassScores TorchEngine::classify(const Encoded& base) {
  const auto& encoded = static_cast<const TorchEncoded&>(base);
  ClassScores result;
  run([&] {
    const auto logits =
        call("classify", {encoded.states, encoded.lengths.values},
             [&](const Tensors& in) { return Tensors{model_.classify(in[0], {in[1]})}; })[0];
    result = to_host(logits, encoded.rows);
  });
  return result;
}

}  // namespace convseq
