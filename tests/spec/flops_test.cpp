#include "convseq/spec/flops.h"

#include <gtest/gtest.h>

#include "convseq/spec/presets.h"
#include "temp_folder.h"

namespace convseq {
using testing::message_of;

// Written out by hand for d = 8, d_ff = 32, one layer each, source 10, target 4, vocabulary 100.
ModelConfig hand_counted(MixerKind mixer, int64_t d_kv) {
  return {.mixer = mixer,
          .vocab_size = 100,
          .d_model = 8,
          .d_ff = 32,
          .encoder_layers = 1,
          .decoder_layers = 1,
          .heads = 2,
          .d_kv = d_kv};
}

TEST(Flops, OfALightModelEqualTheHandCount) {
  ModelConfig config = hand_counted(MixerKind::Light, /*d_kv=*/4);
  config.kernel_sizes = {{3}};
  config.conv_heads = 2;
  const NamedCounts expected = {
      {"encoder mixers", 10 * (2 * 8 * 16 + 2 * 3 * 8 + 2 * 8 * 8)},
      {"encoder FFN", 10 * (2 * 8 * 32 + 2 * 32 * 8)},
      {"decoder mixers", 4 * (2 * 8 * 16 + 2 * 3 * 8 + 2 * 8 * 8)},
      {"decoder cross-attention", (4 + 4 + 10 + 10) * 2 * 8 * 8 + 2 * (2 * 4 * 10 * 8)},
      {"decoder FFN", 4 * (2 * 8 * 32 + 2 * 32 * 8)},
      {"output", 4 * 2 * 8 * 100},
  };
  EXPECT_EQ(forward_flops(config, {.source = 10, .target = 4}), expected);
  EXPECT_EQ(training_flops(total_flops(expected)), 3 * total_flops(expected));
}

TEST(Flops, OfAttentionDynamicTapsAndGatesEqualTheHandCount) {
  ModelConfig config = hand_counted(MixerKind::Attention, /*d_kv=*/3);
  config.ffn = FeedForwardKind::GatedGelu;
  config.classes = 5;
  const auto attention = forward_flops(config, {.source = 10, .target = 4});
  EXPECT_EQ(attention[0].second, 4 * (10 * 2 * 8 * 6) + 2 * (2 * 10 * 10 * 6));
  EXPECT_EQ(attention[1].second, 10 * 3 * (2 * 8 * 32));
  EXPECT_EQ(attention[2].second, 4 * (4 * 2 * 8 * 6) + 2 * (2 * (4 + 3 + 2 + 1) * 6));
  EXPECT_EQ(attention.back(), (std::pair<std::string, int64_t>{"classifier", 2 * 8 * 5}));

  config.mixer = MixerKind::Dynamic;
  config.kernel_sizes = {{3}};
  config.conv_heads = 2;
  config.glu = false;
  config.encoder_attention_layers = {0};
  const auto dynamic = forward_flops(config, {.source = 10, .target = 4});
  EXPECT_EQ(dynamic[0].second, 10 * (2 * 8 * 8 + 2 * 8 * (2 * 3) + 2 * 3 * 8 + 2 * 8 * 8));
  EXPECT_EQ(dynamic[1].second, attention[0].second);  // the added layer is the same attention
}

TEST(Flops, OfAPooledHeadWithoutADecoderHaveNoOutputMatrix) {
  ModelConfig config = hand_counted(MixerKind::Light, /*d_kv=*/4);
  config.decoder_layers = 0;
  config.classes = 5;
  const auto parts = forward_flops(config, {.source = 10, .target = 4});
  ASSERT_EQ(parts.size(), 3u);
  EXPECT_EQ(parts[0].first, "encoder mixers");
  EXPECT_EQ(parts[1].first, "encoder FFN");
  EXPECT_EQ(parts[2], (std::pair<std::string, int64_t>{"classifier", 2 * 8 * 5}));
}

TEST(Flops, BeyondSixtyFourBitsAreRefused) {
  const auto config =
      find_model_config("paper-transformer-base", {"d_ff=16000000", "d_model=160000"});
  EXPECT_GT(total_flops(forward_flops(config, {})), 0);
  EXPECT_EQ(
      message_of<Error>([&] { forward_flops(config, {.source = 1 << 20, .target = 1 << 20}); }),
      "the FLOPs of this model at these lengths are more than 64 bits hold; use shorter "
      "lengths or a smaller model");
}

TEST(ReceptiveField, AddsUpOverLayersAndIsUnlimitedWithAttention) {
  EXPECT_EQ(receptive_field(find_model_config("paper-light-base"), Side::Encoder), 1 + 12 * 6);
  EXPECT_EQ(receptive_field(find_model_config("paper-dilated-base"), Side::Decoder),
            1 + 3 + 2 * (3 + 6 + 6 + 4 * 14 + 4 * 30));
  EXPECT_EQ(receptive_field(find_model_config("paper-transformer-base"), Side::Encoder),
            std::nullopt);
  const auto mended = find_model_config("paper-light-base", {"encoder_attention_layers=[11]"});
  EXPECT_EQ(receptive_field(mended, Side::Encoder), std::nullopt);
  EXPECT_EQ(receptive_field(mended, Side::Decoder), 73);
}

TEST(DecodeState, OfTheBaseModelsIsWhatThePaperNotesSay) {
  // 221 KB (fp32) for a light base model, 38 MB (fp32) for a Transformer at 512 tokens.
  EXPECT_EQ(decode_state_bytes(find_model_config("paper-light-base"), 512, 512, 4).mixers, 221'184);
  EXPECT_EQ(decode_state_bytes(find_model_config("paper-transformer-base"), 512, 512, 4).mixers,
            12 * 2 * 512 * 768 * 4);
}

TEST(DecodeState, OfAnInt8CacheHasOneScalePerTokenAndHead) {
  const DecodeBytes bytes = decode_state_bytes(find_model_config("paper-transformer-base"), 512,
                                               256, 2, KvCacheType::Int8);
  EXPECT_EQ(bytes.source, 12 * 2 * 512 * (768 + 12 * 4));
  EXPECT_EQ(bytes.mixers, 12 * 2 * 256 * (768 + 12 * 4));
  const ModelConfig light = find_model_config("paper-light-base");
  EXPECT_EQ(decode_state_bytes(light, 512, 512, 2, KvCacheType::Int8).mixers,
            decode_state_bytes(light, 512, 512, 2).mixers);
}

}  // namespace convseq
