#include "convseq/bench/device_memory.h"

#include <gtest/gtest.h>

#include "convseq/base/memory.h"
#include "convseq/bench/conv_speed.h"
#include "convseq/bench/decode_speed.h"
#include "convseq/bench/length_speed.h"
#include "convseq/bench/step_speed.h"
#include "convseq/spec/presets.h"
#include "temp_folder.h"

namespace convseq::bench {
using testing::message_of;

constexpr int64_t kHuge = 100'000'000'000;

TEST(BenchMemory, ConvolutionsThatDoNotFitAreRefusedBeforeAnythingIsAllocated) {
  EXPECT_THROW(measure_convs({.batch = kHuge}), NotEnoughMemory);
  EXPECT_THROW(measure_convs({.batch = kHuge, .time = kHuge, .channels = 12}), NotEnoughMemory);
  EXPECT_THROW(measure_convs({.batch = 8, .max_memory = 1e6}), NotEnoughMemory);
  EXPECT_NE(message_of<Error>([] { measure_convs({.batch = kHuge}); })
                .find("bench ops: light_conv with kernel 7, batch 100000000000, time 512 and 768 "
                      "channels: needs about "),
            std::string::npos);
}

TEST(BenchMemory, DecodingThatDoesNotFitIsRefused) {
  const auto config = find_model_config("paper-light-tiny");
  EXPECT_THROW(measure_decoding({.models = {config}, .positions = {16}, .batch = kHuge}),
               NotEnoughMemory);
}

TEST(BenchMemory, StepsThatDoNotFitAreRefused) {
  const auto config = find_model_config("paper-light-tiny");
  EXPECT_THROW(measure_steps({.models = {config}, .tokens = kHuge}), NotEnoughMemory);
  EXPECT_THROW(measure_lengths({.models = {config}, .lengths = {64}, .tokens = kHuge}),
               NotEnoughMemory);
  const auto large =
      find_model_config("paper-transformer-base", {"d_ff=16000000", "d_model=160000"});
  EXPECT_THROW(measure_steps({.models = {large}, .tokens = 1}), NotEnoughMemory);
}

}  // namespace convseq::bench
