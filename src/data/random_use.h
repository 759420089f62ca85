#pragma once

#include <cstdint>

namespace convseq {

// The first word of every key under a stream's seed, so that no two draws share their numbers.
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
