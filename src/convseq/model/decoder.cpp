#include "convseq/model/decoder.h"

namespace convseq {

void DecodeState::reorder(const torch::Tensor& rows) {
  for (Block& block : blocks) {
    block.mixer->reorder(rows);
    capacity > 0 ? block.source.reorder_in_place(rows) : block.source.reorder(rows);
  }
  if (capacity > 0) nn::reorder_in_place(positions, rows);
}

int64_t DecodeState::mixer_bytes() const {
  int64_t bytes = 0;
  for (const Block& block : blocks) bytes += block.mixer->bytes();
  return bytes;
}

int64_t DecodeState::source_bytes() const {
  int64_t bytes = 0;
  for (const Block& block : blocks) bytes += block.source.bytes();
  return bytes;
}

DecoderBlock::DecoderBlock(const ModelConfig& config, int64_t layer)
    : residual_(residual_options(config)) {
  const auto norm = [&] { return std::make_shared<nn::Norm>(norm_options(config)); };
  mixer_ = register_module("mixer", nn::make_mixer(mixer_options(config, Side::Decoder, layer)));
  mixer_norm_ = register_module("mixer_norm", norm());
  cross_ =
      register_module("cross", std::make_shared<nn::CrossAttention>(attention_options(config)));
  cross_norm_ = register_module("cross_norm", norm());
  ffn_ = register_module("ffn", std::make_shared<nn::FeedForward>(feed_forward_options(config)));
  ffn_norm_ = register_module("ffn_norm", norm());
}

template <class Mix>
torch::Tensor DecoderBlock::apply(torch::Tensor x, const nn::CrossAttention::Memory& source,
                                  Mix mix) const {
  x = residual_(x, *mixer_norm_, mix);
  x = residual_(x, *cross_norm_, [&](const auto& y) { return cross_->forward(y, source); });
  return residual_(x, *ffn_norm_, [&](const auto& y) { return ffn_->forward(y); });
}

torch::Tensor DecoderBlock::forward(const torch::Tensor& x,
                                    const nn::CrossAttention::Memory& source,
                                    const nn::MixerContext& context) {
  return apply(x, source, [&](const auto& y) { return mixer_->forward(y, context); });
}

torch::Tensor DecoderBlock::step(const torch::Tensor& x, DecodeState::Block& state,
                                 const nn::MixerContext& context) {
  if (!context.positions.defined()) {
    return apply(x, state.source,
                 [&](const auto& y) { return mixer_->step(y, context, *state.mixer); });
  }
  auto y = residual_.infer(x, *mixer_norm_, [&](const auto& input, const auto& sum) {
    nn::MixerContext with_sum = context;
    with_sum.sum = sum;
    return mixer_->step(input, with_sum, *state.mixer);
  });
  y = residual_.infer(y, *cross_norm_, [&](const auto& input, const auto& sum) {
    return cross_->forward(input, state.source, sum);
  });
  return residual_.infer(
      y, *ffn_norm_, [&](const auto& input, const auto& sum) { return ffn_->forward(input, sum); });
}

nn::CrossAttention::Memory DecoderBlock::remember(const nn::Stream& encoded,
                                                  const nn::Lengths& lengths) const {
  return cross_->remember(encoded, lengths);
}

DecodeState::Block DecoderBlock::start(const torch::Tensor& encoded, const nn::Lengths& lengths,
                                       const DecodeStateOptions& options) const {
  DecodeState::Block block{.mixer = mixer_->start(encoded.size(0), options.capacity, options.cache),
                           .source = remember(encoded, lengths)};
  if (options.capacity > 0) {  // own memory, contiguous per head
    nn::CrossAttention::Memory& source = block.source;
    const auto &keys = source.cache.keys, &values = source.cache.values;
    source.cache = options.cache == KvCacheType::Int8
                       ? ops::quantize_cache(keys, values)
                       : ops::AttentionCache{keys.contiguous(), values.contiguous()};
    if (!lengths.all_full()) source.lengths = {lengths.values.clone()};
  }
  return block;
}

void DecoderBlock::initialise(torch::Generator& random) {
  mixer_->initialise(random);
  mixer_norm_->initialise();
  cross_->initialise(random);
  cross_norm_->initialise();
  ffn_->initialise(random);
  ffn_norm_->initialise();
}

Decoder::Decoder(const ModelConfig& config) : Stack(config, Side::Decoder) {
  const auto list = register_module("blocks", std::make_shared<torch::nn::Module>());
  for (int64_t layer = 0; layer < config.decoder_layers; ++layer) {
    blocks_.push_back(list->register_module(std::to_string(layer),
                                            std::make_shared<DecoderBlock>(config, layer)));
  }
}

torch::Tensor Decoder::forward(const torch::Tensor& embedded, const torch::Tensor& encoded,
                               const nn::Lengths& source_lengths) {
  const int64_t time = embedded.size(1);
  const auto bias = position_bias(time, time);
  nn::Inputs inputs = {enter(embedded, 0), encoded, bias};
  for (const auto& block : blocks_) {
    inputs[0] = run(
        [=](const nn::Inputs& in) {
          return block->forward(in[0], block->remember(in[1], source_lengths),
                                {.position_bias = in[2]});
        },
        inputs);
  }
  return leave(inputs[0]);
}

DecodeState Decoder::start(const torch::Tensor& encoded, const nn::Lengths& source_lengths,
                           const DecodeStateOptions& options) const {
  DecodeState state;
  state.capacity = options.capacity;
  for (const auto& block : blocks_) {
    state.blocks.push_back(block->start(encoded, source_lengths, options));
  }
  if (options.capacity > 0) {
    check_positions(options.capacity);
    state.positions = torch::zeros({encoded.size(0)}, encoded.options().dtype(torch::kInt64));
    state.position_bias = bias_by_distance();
  }
  return state;
}

torch::Tensor Decoder::step(const torch::Tensor& embedded, DecodeState& state) {
  if (state.capacity > 0) return fixed_step(embedded, state);
  const int64_t added = embedded.size(1);
  const nn::MixerContext context{.position_bias = position_bias(added, state.position + added)};
  auto x = enter(embedded, state.position);
  for (size_t i = 0; i < blocks_.size(); ++i) x = blocks_[i]->step(x, state.blocks[i], context);
  state.position += added;
  return leave(x);
}

torch::Tensor Decoder::fixed_step(const torch::Tensor& embedded, DecodeState& state) {
  require(embedded.size(1) == 1,
          "a decode state of fixed capacity takes one token per step, not {}", embedded.size(1));
  const nn::MixerContext context{.position_bias = state.position_bias,
                                 .positions = state.positions};
  auto x = enter(embedded, state.positions);
  for (size_t i = 0; i < blocks_.size(); ++i) x = blocks_[i]->step(x, state.blocks[i], context);
  state.positions.add_(1);
  return leave(x);
}

void Decoder::initialise(torch::Generator& random) {
  initialise_stack(random);
  for (const auto& block : blocks_) block->initialise(random);
}

}  // namespace convseq
