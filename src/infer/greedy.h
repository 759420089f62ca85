#pragma once

#include "convseq/infer/padded_ids.h"
#include "convseq/model/seq2seq.h"

namespace convseq {

struct GreedyOptions {
  int64_t max_tokens = 64;  // steps of decoding: the EOS counts
};

struct Generation {
  TokenIds tokens = {};  // without the EOS
  bool ended = false;    // by an EOS; otherwise the limit cut it
};

// The likeliest token, one after the other, until the EOS. A row that has ended leaves the batch
// and costs nothing more. What a row says does not depend on its neighbours.
std::vector<Generation> generate_greedy(Seq2Seq& model, const PaddedIds& source,
                                        const GreedyOptions& options);

}  // namespace convseq
