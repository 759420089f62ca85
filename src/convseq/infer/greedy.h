#pragma once

#include "convseq/infer/padded_ids.h"
#include "convseq/model/seq2seq.h"

namespace convseq {

struct GreedyOptions {
  int64_t max_tokens = 64;  // decoding steps, the EOS included
};

struct Generation {
  TokenIds tokens = {};  // without the EOS
  bool ended = false;    // with an EOS; false: cut at max_tokens
};

// Greedy decoding: the likeliest token at each step, until the EOS. A row that has ended leaves the
// batch and costs nothing more. The answer of a row does not depend on the other rows.
std::vector<Generation> generate_greedy(Seq2Seq& model, const PaddedIds& source,
                                        const GreedyOptions& options);

}  // namespace convseq
