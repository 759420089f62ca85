#include "convseq/bench/step_work.h"

#include <gtest/gtest.h>

#include "convseq/model/seq2seq.h"
#include "convseq/spec/mixer_description.h"
#include "convseq/spec/presets.h"

namespace convseq::bench {
namespace {

double convolution_flops(const ModelConfig& config, const StepShape& shape) {
  int64_t sum = 0;
  for (const Side side : {Side::Encoder, Side::Decoder}) {
    const int64_t time = side == Side::Encoder ? shape.work.source : shape.work.target;
    for (int64_t layer = 0; layer < config.layers(side); ++layer) {
      sum += 2 * time * mixer_layer(config, side, layer).multiply_adds;
    }
  }
  return static_cast<double>(training_flops(shape.batch * sum));
}

double matmul_flops(const StepWork& work) {
  double sum = 0;
  for (const Matmul& matmul : work.matmuls) sum += matmul.flops();
  for (const AttentionMatmul& matmul : work.attentions) sum += matmul.flops();
  return sum;
}

}  // namespace

TEST(StepWork, MatmulsAndConvolutionsAreAllThatTheModelCounts) {
  for (const std::string& name : preset_names()) {
    const ModelConfig config = find_model_config(name, {});
    const StepShape shape{.batch = 3, .work = {.source = 100, .target = 37}};
    const auto counted =
        static_cast<double>(training_flops(3 * total_flops(forward_flops(config, shape.work))));
    const StepWork work = step_work(config, shape);
    EXPECT_NEAR(matmul_flops(work) + convolution_flops(config, shape), counted, 1e-9 * counted)
        << name;
  }
}

TEST(StepWork, CountsGatedFeedForwardAndAddedAttention) {
  const ModelConfig config = find_model_config(
      "paper-light-tiny", {"ffn=gated_gelu", "encoder_attention_layers=[1]", "positions=relative"});
  const StepShape shape{.batch = 2, .work = {.source = 64, .target = 10}};
  const auto counted =
      static_cast<double>(training_flops(2 * total_flops(forward_flops(config, shape.work))));
  EXPECT_NEAR(matmul_flops(step_work(config, shape)) + convolution_flops(config, shape), counted,
              1e-9 * counted);
}

TEST(StepWork, TheLossComesInChunks) {
  const ModelConfig config = find_model_config("paper-light-tiny", {});
  const StepShape shape{.batch = 5, .work = {.source = 8, .target = 10}, .loss_chunk_tokens = 16};
  int64_t whole = 0, rest = 0;
  for (const Matmul& matmul : step_work(config, shape).matmuls) {
    if (matmul.out != config.vocab_size) continue;
    (matmul.rows == 16 ? whole : rest) += matmul.count;
    EXPECT_TRUE(matmul.rows == 16 || matmul.rows == 2);
  }
  EXPECT_EQ(whole, 3);
  EXPECT_EQ(rest, 1);
}

TEST(StepWork, BytesOfTheRestAreThoseCountedByHand) {
  const ModelConfig config = find_model_config("paper-light-tiny", {});  // d 128, 2 + 2 layers
  const StepShape shape{.batch = 2, .work = {.source = 10, .target = 5}, .element_bytes = 2};
  const StepWork work = step_work(config, shape);
  const double tokens = 20 + 10;
  // GLU and convolution: 6d bytes forward, 10d backward, in two blocks of each stack.
  EXPECT_DOUBLE_EQ(work.bytes_of("gates and convolutions"), 2 * tokens * 16 * 128);
  // Two norms per block, three in the decoder, one at the end: 6d bytes each way.
  EXPECT_DOUBLE_EQ(work.bytes_of("norms and residual sums"), (20 * 5 + 10 * 7) * 12.0 * 128);
  EXPECT_DOUBLE_EQ(work.bytes_of("activations"), 2 * tokens * 2 * 512);
  EXPECT_DOUBLE_EQ(work.bytes_of("loss"), 10 * 2 * 2.0 * 32128);
}

TEST(StepWork, AGateIsAPassOfItsOwn) {
  const ModelConfig config = find_model_config("paper-light-tiny", {"ffn=gated_gelu"});
  const StepShape shape{.batch = 2, .work = {.source = 10, .target = 5}, .element_bytes = 2};
  EXPECT_DOUBLE_EQ(step_work(config, shape).bytes_of("activations"),
                   2 * 30 * 16.0 * static_cast<double>(config.d_ff));
}

TEST(StepWork, TheOptimizerMovesEveryParameter) {
  const ModelConfig config = find_model_config("paper-light-tiny", {});
  const StepWork work = step_work(config, {.element_bytes = 2});
  int64_t taps = 0;
  for (const Side side : {Side::Encoder, Side::Decoder}) {
    for (int64_t layer = 0; layer < config.layers(side); ++layer) {
      taps += config.conv_heads * config.kernels(side)[layer];
    }
  }
  const auto parameters = static_cast<double>(Seq2Seq(config).parameter_count() - taps);
  EXPECT_DOUBLE_EQ(work.bytes_of("optimizer and clipping"), 30 * parameters);
}

}  // namespace convseq::bench
