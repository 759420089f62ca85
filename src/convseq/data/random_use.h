#pragma once

#include <cstdint>

namespace convseq {

// The first word of every random key under a seed, so that no two uses draw the same numbers.
enum RandomUse : uint64_t {
  kBlockOrder = 1,
  kFileOrder,
  kGroupOrder,
  kCorpusChoice,
  kExample,
  kDropout,
  kHeldOut,
  kBatchOrder
};

}  // namespace convseq
