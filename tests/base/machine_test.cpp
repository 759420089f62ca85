#include "convseq/base/machine.h"

#include <gtest/gtest.h>

namespace convseq {

TEST(Machine, TheSecondLevelCacheIsWithinItsBounds) {
  EXPECT_GE(l2_cache_bytes(), 256 * 1024);
  EXPECT_LE(l2_cache_bytes(), 4 * 1024 * 1024);
  EXPECT_EQ(l2_cache_bytes() % 1024, 0);
}

}  // namespace convseq
