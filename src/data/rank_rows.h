#pragma once

#include <cstdint>

namespace convseq {

// One of several processes that share every global batch.
struct Rank {
  int64_t index = 0;
  int64_t count = 1;
};

// The rows of a global batch that fall to one process: a run of them; all runs together are the
// batch, and none is longer than another by more than one.
struct RankRows {
  int64_t begin = 0;
  int64_t end = 0;
  bool contains(int64_t row) const { return row >= begin && row < end; }
};

inline RankRows rows_of(Rank rank, int64_t rows) {
  return {rows * rank.index / rank.count, rows * (rank.index + 1) / rank.count};
}

}  // namespace convseq
