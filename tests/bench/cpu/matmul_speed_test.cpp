#include "convseq/bench/cpu/matmul_speed.h"

#include <gtest/gtest.h>

namespace convseq::bench {

TEST(MatmulSpeed, IsMeasuredInEachPrecisionAgainstItsInstruction) {
  const auto speeds = measure_matmuls({CpuPrecision::Int8, CpuPrecision::Fp32}, /*seconds=*/0);
  ASSERT_EQ(speeds.size(), 4u);
  EXPECT_EQ(speeds[3].precision, CpuPrecision::Fp32);
  for (const MatmulSpeed& speed : speeds) {
    EXPECT_GT(speed.gigaops, 0);
    EXPECT_GT(speed.peak.gigaops, 0);
    EXPECT_EQ(speed.peak.precision, speed.precision);
  }
}

TEST(MatmulSpeed, HasThePeakAsItsBound) {
  const Row row = row_of(MatmulSpeed{.precision = CpuPrecision::Int8,
                                     .rows = 512,
                                     .inputs = 512,
                                     .outputs = 2048,
                                     .gigaops = 300,
                                     .peak = {.precision = CpuPrecision::Int8, .gigaops = 400}});
  EXPECT_EQ(row.name, "matmul_int8_512x512x2048");
  EXPECT_EQ(row.floor, 400);
  EXPECT_EQ(row.ratio, 0.75);
}

}  // namespace convseq::bench
