#pragma once

#include <functional>

#include "convseq/runtime/engine.h"

namespace convseq {

struct GreedyOptions {
  int64_t max_tokens = 64;  // decoding steps, the EOS included
  // Whether a token ends the answer to a source, as the EOS does.
  std::function<bool(const TokenIds& source, int32_t token)> ends = {};
};

struct Generation {
  TokenIds tokens = {};        // without the EOS, or the token that ended it
  bool ended = false;          // false: cut at max_tokens
  double log_probability = 0;  // of the tokens, and of the one that ended it
};

// Greedy decoding: the likeliest token at each step, until the EOS. The answer of a source does
// not depend on the other sources.
std::vector<Generation> generate_greedy(Engine& engine, const std::vector<TokenIds>& sources,
                                        const GreedyOptions& options);

}  // namespace convseq
