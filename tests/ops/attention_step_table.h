#pragma once

#include <gtest/gtest.h>
#include <torch/cuda.h>

#include "convseq/ops/attention.h"
#include "tensor_checks.h"

// Sizes of a decoding step's attention, and its inputs.
namespace convseq::ops::testing {

struct StepSizes {
  int64_t batch = 2, heads = 3, channels = 64, capacity = 9;
};

// Rows [B,H,1,d] with the memory layout [B,1,H,d], as the projections return them.
inline torch::Tensor one_position(const StepSizes& s) {
  return convseq::testing::random_tensor({s.batch, 1, s.heads, s.channels}).transpose(1, 2);
}

inline AttentionCache random_cache(const StepSizes& s) {
  const auto make = [&] {
    return convseq::testing::random_tensor({s.batch, s.heads, s.capacity, s.channels});
  };
  return {.keys = make(), .values = make()};
}

inline torch::Tensor random_positions(const StepSizes& s) {
  return torch::randint(s.capacity, {s.batch}, torch::kInt64);
}

inline AttentionCache empty_cache_like(const AttentionCache& cache) {
  const auto rows = [&] { return torch::zeros(cache.keys.sizes(), torch::kFloat32); };
  return {.keys = rows(), .values = rows()};
}

struct StepCase {
  torch::Dtype type;
  double tolerance;
  StepSizes sizes;
};

class GpuStepTest : public ::testing::TestWithParam<StepCase> {
 protected:
  void SetUp() override {
    ASSERT_TRUE(torch::cuda::is_available()) << "this test needs a GPU";
    torch::manual_seed(1);
  }
  // Rounds to the type of the case on both devices, so that only the sums differ.
  static torch::Tensor rounded(const torch::Tensor& x) {
    return x.to(GetParam().type).to(torch::kFloat32);
  }
  static torch::Tensor on_gpu(const torch::Tensor& x) {
    return x.to(torch::kCUDA, GetParam().type);
  }
};

inline std::vector<StepCase> step_cases() {
  std::vector<StepCase> cases;
  for (const auto& [type, tolerance] :
       {std::pair(torch::kFloat32, 1e-4), std::pair(torch::kBFloat16, 1e-2)}) {
    for (const StepSizes& sizes :
         {StepSizes{1, 8, 64, 512}, StepSizes{2, 3, 64, 1}, StepSizes{3, 2, 32, 67},
          StepSizes{2, 2, 128, 129}, StepSizes{70, 8, 64, 130}, StepSizes{64, 8, 64, 64},
          StepSizes{5, 12, 64, 1031}}) {
      cases.push_back({type, tolerance, sizes});
    }
  }
  return cases;
}

}  // namespace convseq::ops::testing
