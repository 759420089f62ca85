#include "convseq/train/step/precision.h"

#include <gtest/gtest.h>

#include "convseq/base/error.h"
#include "temp_folder.h"

namespace convseq {

TEST(Precision, Bf16IsRefusedOnAnArmCpuAlone) {
  EXPECT_NO_THROW(check_precision(torch::kCUDA, torch::kBFloat16));
  EXPECT_NO_THROW(check_precision(torch::kCPU, torch::kFloat32));
  EXPECT_NO_THROW(check_precision(torch::kCPU, torch::kFloat64));
#ifdef __aarch64__
  EXPECT_EQ(testing::message_of<Error>([] { check_precision(torch::kCPU, torch::kBFloat16); }),
            "precision=bf16: is slower than fp32 on an Arm CPU; use precision=fp32, or a GPU or an "
            "x86 CPU with AVX512-BF16 or AMX");
#else
  EXPECT_NO_THROW(check_precision(torch::kCPU, torch::kBFloat16));
#endif
}

}  // namespace convseq
