#include "convseq/spec/mixer/descriptions.h"

namespace convseq::mixers {
namespace {

// The sizes of attention are checked for every model: each decoder block has encoder-decoder
// attention.
void check_config(const ConfigCheck&) {}

MixerLayer describe_layer(const ModelConfig& config, Side, int64_t) {
  const AttentionHeads heads{.heads = config.heads, .channels = config.d_kv};
  const int64_t d = config.d_model, inner = heads.inner();
  return {.matmuls = {{.name = "query", .in = d, .out = inner},
                      {.name = "key", .in = d, .out = inner},
                      {.name = "value", .in = d, .out = inner},
                      {.name = "output", .in = inner, .out = d}},
          .attention = heads,
          .reach = std::nullopt,
          .state_values_per_token = 2 * inner};  // keys and values
}

}  // namespace

constexpr MixerDescription kAttention{
    .attends = true, .check = check_config, .layer = describe_layer};

}  // namespace convseq::mixers
