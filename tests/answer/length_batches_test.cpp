#include "convseq/answer/length_batches.h"

#include <gtest/gtest.h>

#include <set>

namespace convseq {

TEST(LengthBatches, HoldEverySequenceOnceWithinTheirLimits) {
  std::vector<TokenIds> sequences;
  for (const size_t length : {3, 9, 0, 1, 30, 9, 2, 2, 7, 1}) sequences.emplace_back(length, 2);
  const LengthBatchOptions options{.max_rows = 3, .max_tokens = 20};
  std::set<size_t> seen;
  size_t last = 30;  // the longest first
  for (const auto& batch : batches_by_length(sequences, options)) {
    ASSERT_FALSE(batch.empty());
    EXPECT_LE(batch.size(), 3u);
    const size_t width = sequences[batch[0]].size();
    EXPECT_TRUE(batch.size() == 1 || batch.size() * width <= 20);
    for (size_t number : batch) {
      EXPECT_TRUE(seen.insert(number).second);
      EXPECT_LE(sequences[number].size(), last);
      last = sequences[number].size();
    }
  }
  EXPECT_EQ(seen.size(), sequences.size());
  EXPECT_TRUE(batches_by_length({}, options).empty());
}

}  // namespace convseq
