#pragma once

#include <cstdint>

namespace convseq {

// One of several processes that split every global batch.
struct Rank {
  int64_t index = 0;
  int64_t count = 1;
};

// The contiguous rows of a global batch that one process takes. Together the processes take all
// rows, and their numbers of rows differ by at most one.
struct RankRows {
  int64_t begin = 0;
  int64_t end = 0;
  bool contains(int64_t row) const { return row >= begin && row < end; }
};

inline RankRows rows_of(Rank rank, int64_t rows) {
  return {rows * rank.index / rank.count, rows * (rank.index + 1) / rank.count};
}

}  // namespace convseq
