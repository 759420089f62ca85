#include "convseq/train/step/precision.h"

#include <gtest/gtest.h>

#include "convseq/base/error.h"
#include "temp_folder.h"

namespace convseq {

TEST(Precision, Bf16IsRefusedOnACpuWithoutFastBf16) {
  EXPECT_NO_THROW(check_precision(torch::kCUDA, torch::kBFloat16));
  EXPECT_NO_THROW(check_precision(torch::kCPU, torch::kFloat32));
  EXPECT_NO_THROW(check_precision(torch::kCPU, torch::kFloat64));
  if (has_fast_bf16_on_cpu()) {
    EXPECT_NO_THROW(check_precision(torch::kCPU, torch::kBFloat16));
  } else {
    EXPECT_EQ(testing::message_of<Error>([] { check_precision(torch::kCPU, torch::kBFloat16); }),
              "precision=bf16: is slower than fp32 on an Arm CPU without bf16 instructions; use "
              "precision=fp32, or a GPU");
  }
}

}  // namespace convseq
