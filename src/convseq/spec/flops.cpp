#include "convseq/spec/flops.h"

#include <initializer_list>

#include "convseq/base/error.h"
#include "convseq/spec/mixer_description.h"

namespace convseq {
namespace {

[[noreturn]] void refuse_count() {
  fail(
      "the FLOPs of this model at these lengths are more than 64 bits hold; use shorter lengths "
      "or a smaller model");
}

// a · b · …, or an error where 64 bits cannot hold it.
int64_t times(std::initializer_list<int64_t> factors) {
  int64_t result = 1;
  for (const int64_t factor : factors) {
    if (__builtin_mul_overflow(result, factor, &result)) refuse_count();
  }
  return result;
}

int64_t plus(std::initializer_list<int64_t> terms) {
  int64_t result = 0;
  for (const int64_t term : terms) {
    if (__builtin_add_overflow(result, term, &result)) refuse_count();
  }
  return result;
}

// [rows, in] times [in, out]
int64_t matmul(int64_t rows, int64_t in, int64_t out) { return times({2, rows, in, out}); }

// Q Kᵀ and the weighted sum of V, over so many query-key pairs.
int64_t attend(const AttentionHeads& heads, int64_t pairs) {
  return times({2, 2, pairs, heads.inner()});
}

int64_t cross_attention(const ModelConfig& config, const Workload& work) {
  const AttentionHeads heads{.heads = config.heads, .channels = config.d_kv};
  const int64_t query_and_output = times({2, matmul(work.target, config.d_model, heads.inner())});
  const int64_t key_and_value = times({2, matmul(work.source, config.d_model, heads.inner())});
  return plus({query_and_output, key_and_value, attend(heads, work.target * work.source)});
}

int64_t mixer(const MixerLayer& layer, Side side, int64_t time) {
  int64_t sum = times({2, time, layer.multiply_adds});
  for (const MixerMatmul& each : layer.matmuls) sum = plus({sum, matmul(time, each.in, each.out)});
  if (!layer.attention) return sum;
  const int64_t pairs = side == Side::Decoder ? time * (time + 1) / 2 : time * time;
  return plus({sum, attend(*layer.attention, pairs)});
}

int64_t mixers(const ModelConfig& config, Side side, int64_t time) {
  int64_t sum = 0;
  for (int64_t layer = 0; layer < config.layers(side); ++layer) {
    sum = plus({sum, mixer(mixer_layer(config, side, layer), side, time)});
  }
  return sum;
}

int64_t feed_forward(const ModelConfig& config, int64_t time) {
  const int64_t matrices = config.ffn == FeedForwardKind::GatedGelu ? 3 : 2;
  return times({matrices, matmul(time, config.d_model, config.d_ff)});
}

}  // namespace

NamedCounts forward_flops(const ModelConfig& config, const Workload& work) {
  const auto added = static_cast<int64_t>(config.encoder_attention_layers.size());
  const int64_t outputs = config.decoder_layers > 0 ? work.target : 0;  // else a pooled head alone
  NamedCounts parts = {
      {"encoder mixers", mixers(config, Side::Encoder, work.source)},
      {"encoder attention",
       times({added, mixer(added_attention(config), Side::Encoder, work.source)})},
      {"encoder FFN", times({config.encoder_layers, feed_forward(config, work.source)})},
      {"decoder mixers", mixers(config, Side::Decoder, work.target)},
      {"decoder cross-attention", times({config.decoder_layers, cross_attention(config, work)})},
      {"decoder FFN", times({config.decoder_layers, feed_forward(config, work.target)})},
      {"output", matmul(outputs, config.d_model, config.vocab_size)},
      {"classifier", matmul(1, config.d_model, config.classes)},
  };
  std::erase_if(parts, [](const auto& part) { return part.second == 0; });
  return parts;
}

int64_t total_flops(const NamedCounts& parts) {
  int64_t sum = 0;
  for (const auto& [name, flops] : parts) sum = plus({sum, flops});
  return sum;
}

int64_t training_flops(int64_t forward) { return times({3, forward}); }

std::optional<int64_t> receptive_field(const ModelConfig& config, Side side) {
  if (config.has_self_attention(side)) return std::nullopt;
  int64_t field = 1;
  for (int64_t layer = 0; layer < config.layers(side); ++layer) {
    const auto reach = mixer_layer(config, side, layer).reach;
    if (!reach) return std::nullopt;
    field += *reach;
  }
  return field;
}

DecodeBytes decode_state_bytes(const ModelConfig& config, int64_t source, int64_t position,
                               int64_t bytes_per_element, KvCacheType cache) {
  // Keys or values of a token and head.
  const int64_t head_bytes = cache == KvCacheType::Int8
                                 ? plus({config.d_kv, static_cast<int64_t>(sizeof(float))})
                                 : times({config.d_kv, bytes_per_element});
  DecodeBytes bytes;
  for (int64_t layer = 0; layer < config.decoder_layers; ++layer) {
    const MixerLayer mixer = mixer_layer(config, Side::Decoder, layer);
    const int64_t heads = mixer.state_values_per_token / config.d_kv;
    bytes.mixers = plus({bytes.mixers, times({mixer.state_values, bytes_per_element}),
                         times({heads, head_bytes, position})});
    bytes.source = plus({bytes.source, times({2, source, config.heads, head_bytes})});
  }
  return bytes;
}

}  // namespace convseq
