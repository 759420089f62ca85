#include "convseq/bench/cpu/conv_kernel_speed.h"

#include <gtest/gtest.h>

namespace convseq::bench {

TEST(ConvKernelSpeed, IsMeasuredForEachKernel) {
  const auto speed = measure_conv_kernels(/*threads=*/2, /*seconds=*/0);
  EXPECT_GT(speed.copy, 0);
  EXPECT_GT(speed.light, 0);
  EXPECT_GT(speed.light_glu, 0);
}

TEST(ConvKernelSpeed, HasTheCopyAsItsBound) {
  const auto rows = rows_of({.copy = 80, .light = 40, .light_glu = 20});
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[0].name, "kernel_copy");
  EXPECT_FALSE(rows[0].floor);
  EXPECT_EQ(rows[1].name, "kernel_light_k7");
  EXPECT_EQ(rows[1].floor, 80);
  EXPECT_EQ(rows[1].ratio, 0.5);
  EXPECT_EQ(rows[2].ratio, 0.25);
}

}  // namespace convseq::bench
