#include "convseq/infer/torch_engine.h"

#include <torch/types.h>

#include <algorithm>

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
  DecodeState state = {};
  torch::Tensor tokens = {};                 // [B,1]: the input of the next step
  torch::Tensor ended = {};                  // [B] bool
  std::vector<torch::Tensor> ids, log = {};  // [B] each, of the steps that were not read yet
  int64_t rows = 0;
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

// log p(label | source) of each pair, [B,K]; `positions` are those of the label's tokens in [K,T].
torch::Tensor label_scores(Seq2Seq& model, const TorchEncoded& encoded, const PaddedIds& labels,
                           const torch::Tensor& positions) {
  const int64_t batch = encoded.states.size(0);
  const auto rows = torch::arange(batch, labels.ids.options());
  // The source's keys and values are computed once per row, then repeated for each label.
  DecodeState state = model.start(encoded.states, encoded.lengths);
  state.reorder(rows.repeat_interleave(labels.rows()));
  const auto targets = labels.ids.repeat({batch, 1});  // [B·K,T]
  const auto decoded = model.decode(decoder_inputs(model.config(), targets), state);
  const auto all = (rows.unsqueeze(1) * labels.ids.numel() + positions).flatten();
  const auto likelihood = token_likelihood(model, decoded, targets, all);
  return row_sums(likelihood.log, all, targets.sizes()).view({batch, labels.rows()});
}

}  // namespace

TorchEngine::TorchEngine(Seq2Seq& model, TorchEngineOptions options)
    : model_(model), options_(options) {}

torch::Device TorchEngine::device() const { return model_.parameters().front().device(); }

DecodePace TorchEngine::pace() const {
  if (device().is_cpu()) return {.steps_between_reads = 1, .compact_below = 1};
  return {.steps_between_reads = 16, .compact_below = 0.5};
}

std::unique_ptr<Engine::Encoded> TorchEngine::encode(const std::vector<TokenIds>& sources) {
  const InferenceScope scope(model_);
  const PaddedIds source = pad(sources, {.pad_token = config().pad_token_id, .device = device()});
  auto encoded = std::make_unique<TorchEncoded>();
  encoded->states = model_.encode(source.ids, source.lengths);
  encoded->lengths = source.lengths;
  encoded->rows = std::ssize(sources);
  return encoded;
}

std::unique_ptr<Engine::Decoding> TorchEngine::start(const Encoded& encoded, int64_t) {
  const InferenceScope scope(model_);
  const auto& source = static_cast<const TorchEncoded&>(encoded);
  const auto ids = source.lengths.values.options();
  const int64_t batch = source.states.size(0);
  auto decoding = std::make_unique<TorchDecoding>();
  decoding->state = model_.start(source.states, source.lengths);
  decoding->tokens = torch::full({batch, 1}, config().decoder_start_token_id, ids);
  decoding->ended = torch::arange(batch, ids) >= source.rows;
  decoding->rows = source.rows;
  return decoding;
}

void TorchEngine::step(Decoding& base, const Select& select) {
  const InferenceScope scope(model_);
  auto& decoding = static_cast<TorchDecoding&>(base);
  auto logits = model_.step(decoding.tokens, decoding.state).squeeze(1);  // [B,V]
  if (logits.scalar_type() != torch::kFloat64) logits = logits.to(torch::kFloat32);
  torch::Tensor chosen = logits.argmax(-1);
  if (!select.given.empty()) {
    const std::vector<int64_t> given(select.given.begin(), select.given.end());
    chosen.narrow(0, 0, decoding.rows).copy_(torch::tensor(given, torch::kInt64));
  }
  const auto log = logits.gather(1, chosen.unsqueeze(1)).squeeze(1) - logits.logsumexp(-1);
  decoding.ids.push_back(chosen.masked_fill(decoding.ended, config().pad_token_id));
  decoding.log.push_back(log.to(torch::kFloat32));
  decoding.ended = decoding.ended | (chosen == config().eos_token_id);
  decoding.tokens = decoding.ids.back().unsqueeze(1);
}

std::vector<ChosenTokens> TorchEngine::read(Decoding& base) {
  auto& decoding = static_cast<TorchDecoding&>(base);
  if (decoding.ids.empty()) return {};
  const auto ids = torch::stack(decoding.ids).to(torch::kInt32).cpu();  // [steps,B]
  const auto log = torch::stack(decoding.log).cpu();
  std::vector<ChosenTokens> steps;
  for (int64_t step = 0; step < ids.size(0); ++step) {
    const int32_t* id = ids.data_ptr<int32_t>() + step * ids.size(1);
    const float* each = log.data_ptr<float>() + step * ids.size(1);
    steps.push_back(
        {.ids = {id, id + decoding.rows}, .log_probabilities = {each, each + decoding.rows}});
  }
  decoding.ids.clear();
  decoding.log.clear();
  return steps;
}

void TorchEngine::reorder(Decoding& base, std::span<const int64_t> rows) {
  const InferenceScope scope(model_);
  auto& decoding = static_cast<TorchDecoding&>(base);
  const auto index = torch::tensor(std::vector<int64_t>(rows.begin(), rows.end()), torch::kInt64)
                         .to(decoding.tokens.device());
  decoding.state.reorder(index);
  decoding.tokens = decoding.tokens.index_select(0, index);
  decoding.ended = decoding.ended.index_select(0, index);
  decoding.rows = std::ssize(rows);
}

ClassScores TorchEngine::score(const Encoded& base, const std::vector<TokenIds>& targets) {
  const InferenceScope scope(model_);
  const auto& encoded = static_cast<const TorchEncoded&>(base);
  const PaddedIds labels = pad(targets, {.pad_token = config().pad_token_id, .device = device()});
  const auto positions = token_positions(targets, labels);
  const int64_t batch = encoded.states.size(0);
  const int64_t at_once = std::max<int64_t>(1, options_.label_rows / labels.rows());
  std::vector<torch::Tensor> scores;
  for (int64_t begin = 0; begin < batch; begin += at_once) {
    const int64_t end = std::min(begin + at_once, batch);
    TorchEncoded piece;
    piece.states = encoded.states.slice(0, begin, end);
    piece.lengths = {encoded.lengths.values.slice(0, begin, end)};
    scores.push_back(label_scores(model_, piece, labels, positions));
  }
  return to_host(torch::cat(scores), encoded.rows);
}

std::vector<TokenNll> TorchEngine::token_nll(const Encoded& base,
                                             const std::vector<TokenIds>& targets) {
  const InferenceScope scope(model_);
  const auto& encoded = static_cast<const TorchEncoded&>(base);
  const PaddedIds target = pad(targets, {.pad_token = config().pad_token_id, .device = device()});
  const auto positions = token_positions(targets, target);
  const auto decoded =
      model_.decode(decoder_inputs(config(), target.ids), encoded.states, encoded.lengths);
  const auto likelihood = token_likelihood(model_, decoded, target.ids, positions);
  const auto shape = target.ids.sizes();
  const auto log = row_sums(likelihood.log.to(torch::kFloat64), positions, shape).cpu();
  const auto right = row_sums(likelihood.right.to(torch::kInt64), positions, shape).cpu();
  std::vector<TokenNll> nlls;
  for (int64_t row = 0; row < encoded.rows; ++row) {
    nlls.push_back({.nll = -log.data_ptr<double>()[row],
                    .tokens = std::ssize(targets[static_cast<size_t>(row)]),
                    .right = right.data_ptr<int64_t>()[row]});
  }
  return nlls;
}

ClassScores TorchEngine::classify(const Encoded& base) {
  const InferenceScope scope(model_);
  const auto& encoded = static_cast<const TorchEncoded&>(base);
  return to_host(model_.classify(encoded.states, encoded.lengths), encoded.rows);
}

}  // namespace convseq
