#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "convseq/spec/kv_cache_type.h"
#include "convseq/spec/model_config.h"

namespace convseq {

using NamedCounts = std::vector<std::pair<std::string, int64_t>>;

// One source and one target sequence of these lengths.
struct Workload {
  int64_t source = 512;
  int64_t target = 114;
};

// Floating-point operations of the forward pass, by part, in the order of computation. The
// multiply-adds (two operations each) of matmuls and convolutions are counted; norms, softmaxes,
// gates and look-ups are not. Causal attention counts the query-key pairs that it attends to. A
// count beyond 64 bits is refused.
NamedCounts forward_flops(const ModelConfig& config, const Workload& work);
int64_t total_flops(const NamedCounts& parts);

// The backward pass computes two matmuls for each matmul of the forward pass.
int64_t training_flops(int64_t forward);

// How many inputs one output of the stack depends on through its mixers; none: all of them.
std::optional<int64_t> receptive_field(const ModelConfig& config, Side side);

struct DecodeBytes {
  int64_t mixers = 0;  // past inputs (convolutions) or keys and values (attention)
  int64_t source = 0;  // the encoder-decoder attention's keys and values
};

// The decode state of one sequence after `position` tokens.
DecodeBytes decode_state_bytes(const ModelConfig& config, int64_t source, int64_t position,
                               int64_t bytes_per_element, KvCacheType cache = KvCacheType::Auto);

}  // namespace convseq
