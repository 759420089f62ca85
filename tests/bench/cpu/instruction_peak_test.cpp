#include "convseq/bench/cpu/instruction_peak.h"

#include <gtest/gtest.h>

namespace convseq::bench {
namespace {

// 500 GOP/s.
CpuSpeed encoder_speed() {
  return {.mixer = "light",
          .precision = CpuPrecision::Int8,
          .batch = 32,
          .rows = 32,
          .length = 128,
          .ms = 2,
          .gigaflops = 1};
}

}  // namespace

TEST(MatmulInstructions, EveryLevelAndTypeNamesAtLeastOne) {
  using kernels::WeightType;
  for (const kernels::CpuLevel level : kernels::cpu_levels()) {
    for (const WeightType type : {WeightType::Fp32, WeightType::Bf16, WeightType::Int8}) {
      const auto instructions = kernels::matmul_instructions(type, level);
      ASSERT_FALSE(instructions.empty());
      for (const kernels::MatmulInstruction& each : instructions) {
        EXPECT_STRNE(each.name, "");
        EXPECT_GT(each.operations, 0);
        each.repeat(3);
      }
    }
  }
}

TEST(InstructionPeaks, KeepsTheBestOfEachPrecisionAndInstruction) {
  InstructionPeaks peaks(/*threads=*/2);
  peaks.measure(CpuPrecision::Int8);
  const auto first = peaks.peaks();
  ASSERT_FALSE(first.empty());
  peaks.measure(CpuPrecision::Int8);
  ASSERT_EQ(peaks.peaks().size(), first.size());
  EXPECT_GT(first[0].gigaops, 0);
  EXPECT_GE(peaks.peaks()[0].gigaops, first[0].gigaops);
  peaks.measure(CpuPrecision::Fp32);
  EXPECT_EQ(peaks.peaks().back().precision, CpuPrecision::Fp32);
}

TEST(InstructionPeaks, AreTheBoundOfAnEncoderOfTheirPrecision) {
  const auto rows = peak_rows(encoder_speed(), {{CpuPrecision::Fp32, "fmla", 80},
                                                {CpuPrecision::Int8, "tdpbusd", 4000},
                                                {CpuPrecision::Int8, "vpdpbusd", 1000}});
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].name, "cpu_light_int8_128_batch_32_of_tdpbusd");
  EXPECT_DOUBLE_EQ(rows[1].value, 500);
  EXPECT_DOUBLE_EQ(*rows[1].floor, 1000);
  EXPECT_DOUBLE_EQ(*rows[1].ratio, 0.5);
  EXPECT_EQ(row_of({CpuPrecision::Int8, "smmla", 1300}).name, "peak_int8_smmla");
}

TEST(InstructionPeaks, AreNoBoundOfGeneration) {
  CpuSpeed speed = encoder_speed();
  speed.new_tokens = 64;
  EXPECT_TRUE(peak_rows(speed, {{CpuPrecision::Int8, "smmla", 1300}}).empty());
}

}  // namespace convseq::bench
