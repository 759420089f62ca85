#include "convseq/base/nearest_name.h"

#include <gtest/gtest.h>

namespace convseq {

TEST(NearestName, ForgivesTyposAndSwaps) {
  const std::vector<std::string> names = {"--steps", "--seed", "--source", "--device"};
  EXPECT_EQ(nearest_name("--stpes", names), "--steps");
  EXPECT_EQ(nearest_name("--step", names), "--steps");
  EXPECT_EQ(nearest_name("--divice", names), "--device");
  EXPECT_EQ(nearest_name("--sead", names), "--seed");
}

TEST(NearestName, TakesABeginning) {
  EXPECT_EQ(nearest_name("kern", {"d_model", "kernel_sizes"}), "kernel_sizes");
}

TEST(NearestName, IsNoneWhereNothingIsNear) {
  EXPECT_EQ(nearest_name("xyzzy", {"cuda", "cpu"}), "");
  EXPECT_EQ(nearest_name("gpu", {"cuda", "cpu"}), "");
  EXPECT_EQ(nearest_name("", {"cuda"}), "");
  EXPECT_EQ(nearest_name(std::string(100'000, 'a'), {"cuda"}), "");
  EXPECT_EQ(did_you_mean("cude", {"cuda"}), "; did you mean cuda?");
  EXPECT_EQ(did_you_mean("xyzzy", {"cuda"}), "");
}

}  // namespace convseq
