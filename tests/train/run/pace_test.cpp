#include "convseq/train/run/pace.h"

#include <gtest/gtest.h>

#include <thread>

namespace convseq {

TEST(Pace, IsAShareOfItsCeiling) {
  const Pace pace{.seconds = 2, .source_tokens = 1000, .flops = 4e9, .flops_ceiling = 8e9};
  EXPECT_DOUBLE_EQ(pace.utilisation(), 0.25);
  EXPECT_DOUBLE_EQ(pace.tokens_per_second(), 500);
}

TEST(Pace, NeverIsMoreThanItsCeiling) {
  PaceMeter meter(torch::kCPU, /*flops_ceiling=*/1e3);
  meter.count(10, 1e15);
  EXPECT_EQ(meter.lately().utilisation(), 1);
  EXPECT_EQ(meter.whole().utilisation(), 1);
  EXPECT_NE(meter.whole().describe().find(" 100% of peak FLOPs "), std::string::npos);
}

TEST(Pace, AStretchFasterThanTheCeilingRaisesIt) {
  PaceMeter meter(torch::kCPU, /*flops_ceiling=*/1e3);
  meter.count(10, 1e9);
  std::this_thread::sleep_for(std::chrono::milliseconds(400));
  meter.new_stretch();
  EXPECT_GT(meter.lately().flops_ceiling, 1e8);
  meter.count(10, 1e5);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_LT(meter.lately().utilisation(), 0.1);  // it would be 1 with the old ceiling
  meter.count(10, 1e15);
  meter.new_stretch();  // too short to raise the ceiling
  EXPECT_LT(meter.lately().flops_ceiling, 1e10);
}

}  // namespace convseq
