#include "convseq/spec/flops.h"

#include <initializer_list>

#include "convseq/base/error.h"

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

int64_t inner(const ModelConfig& config) { return config.heads * config.d_kv; }

// Q Kᵀ and the weighted sum of V, over so many query-key pairs.
int64_t attend(const ModelConfig& config, int64_t pairs) {
  return times({2, 2, pairs, inner(config)});
}

int64_t self_attention(const ModelConfig& config, Side side, int64_t time) {
  const int64_t pairs = side == Side::Decoder ? time * (time + 1) / 2 : time * time;
  return plus({times({4, matmul(time, config.d_model, inner(config))}), attend(config, pairs)});
}

int64_t cross_attention(const ModelConfig& config, const Workload& work) {
  const int64_t query_and_output = times({2, matmul(work.target, config.d_model, inner(config))});
  const int64_t key_and_value = times({2, matmul(work.source, config.d_model, inner(config))});
  return plus({query_and_output, key_and_value, attend(config, work.target * work.source)});
}

int64_t convolution(const ModelConfig& config, Side side, int64_t layer, int64_t time) {
  const int64_t d = config.d_model, kernel = config.kernels(side)[layer];
  const int64_t input = matmul(time, d, config.glu ? 2 * d : d);
  const int64_t taps =
      config.mixer == MixerKind::Dynamic ? matmul(time, d, config.conv_heads * kernel) : 0;
  return plus({input, taps, times({2, time, kernel, d}), matmul(time, d, d)});
}

int64_t mixers(const ModelConfig& config, Side side, int64_t time) {
  int64_t sum = 0;
  for (int64_t layer = 0; layer < config.layers(side); ++layer) {
    sum =
        plus({sum, config.mixer == MixerKind::Attention ? self_attention(config, side, time)
                                                        : convolution(config, side, layer, time)});
  }
  return sum;
}

int64_t feed_forward(const ModelConfig& config, int64_t time) {
  const int64_t matrices = config.ffn == FeedForwardKind::GatedGelu ? 3 : 2;
  return times({matrices, matmul(time, config.d_model, config.d_ff)});
}

}  // namespace

FlopParts forward_flops(const ModelConfig& config, const Workload& work) {
  const auto added = static_cast<int64_t>(config.encoder_attention_layers.size());
  FlopParts parts = {
      {"encoder mixers", mixers(config, Side::Encoder, work.source)},
      {"encoder attention", times({added, self_attention(config, Side::Encoder, work.source)})},
      {"encoder FFN", times({config.encoder_layers, feed_forward(config, work.source)})},
      {"decoder mixers", mixers(config, Side::Decoder, work.target)},
      {"decoder cross-attention", times({config.decoder_layers, cross_attention(config, work)})},
      {"decoder FFN", times({config.decoder_layers, feed_forward(config, work.target)})},
      {"output", matmul(work.target, config.d_model, config.vocab_size)},
      {"classifier", matmul(1, config.d_model, config.classes)},
  };
  std::erase_if(parts, [](const auto& part) { return part.second == 0; });
  return parts;
}

int64_t total_flops(const FlopParts& parts) {
  int64_t sum = 0;
  for (const auto& [name, flops] : parts) sum = plus({sum, flops});
  return sum;
}

int64_t training_flops(int64_t forward) { return times({3, forward}); }

std::optional<int64_t> receptive_field(const ModelConfig& config, Side side) {
  if (config.has_self_attention(side)) return std::nullopt;
  int64_t field = 1;
  for (int64_t layer = 0; layer < config.layers(side); ++layer) {
    field += (config.kernels(side)[layer] - 1) * config.spacing(side)[layer];
  }
  return field;
}

DecodeBytes decode_state_bytes(const ModelConfig& config, int64_t source, int64_t position,
                               int64_t bytes_per_element) {
  DecodeBytes bytes;
  for (int64_t layer = 0; layer < config.decoder_layers; ++layer) {
    const int64_t reach =
        (config.kernels(Side::Decoder)[layer] - 1) * config.spacing(Side::Decoder)[layer];
    const int64_t mixer = config.mixer == MixerKind::Attention ? times({2, position, inner(config)})
                                                               : times({reach, config.d_model});
    bytes.mixers = plus({bytes.mixers, times({mixer, bytes_per_element})});
    bytes.source = plus({bytes.source, times({2, source, inner(config), bytes_per_element})});
  }
  return bytes;
}

}  // namespace convseq
