#pragma once

#include "convseq/runtime/engine.h"

namespace convseq {

struct GreedyOptions {
  int64_t max_tokens = 64;  // decoding steps, the EOS included
};

struct Generation {
  TokenIds tokens = {};        // without the EOS
  bool ended = false;          // with an EOS; false: cut at max_tokens
  double log_probability = 0;  // of the tokens, and of the EOS where it ended
};

// Greedy decoding: the likeliest token at each step, until the EOS. The answer of a source does
// not depend on the other sources.
std::vector<Generation> generate_greedy(Engine& engine, const std::vector<TokenIds>& sources,
                                        const GreedyOptions& options);

}  // namespace convseq
