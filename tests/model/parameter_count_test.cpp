#include <gtest/gtest.h>

#include "convseq/model/seq2seq.h"
#include "convseq/spec/presets.h"

namespace convseq {

// Counts the matrices, norms, taps and the shared embedding from the paper's description alone.
TEST(ParameterCount, OfBaseModelsEqualsTheFormula) {
  const int64_t d = 768, d_ff = 3072, layers = 12, H = 12, vocabulary = 32128;
  const int64_t embedding = vocabulary * d, ffn = 2 * d * d_ff, attention = 4 * d * d;
  // Each mixer has `matrices` matrices of [d,d], and its taps.
  const auto conv_model = [&](int64_t matrices, const std::vector<int64_t>& tap_weights) {
    const int64_t layer_norm = 2 * d;
    int64_t count = embedding + 2 * layer_norm;  // one final norm per stack
    for (int64_t layer = 0; layer < layers; ++layer) {
      const int64_t conv = matrices * d * d + tap_weights[static_cast<size_t>(layer)];
      count += conv + ffn + 2 * layer_norm;              // encoder
      count += conv + attention + ffn + 3 * layer_norm;  // decoder
    }
    return count;
  };
  const auto everywhere = [&](int64_t taps) { return std::vector<int64_t>(layers, taps); };
  std::vector<int64_t> dilated;
  for (int64_t k : {4, 4, 7, 7, 15, 15, 15, 15, 31, 31, 31, 31}) dilated.push_back(H * k);
  const int64_t transformer = embedding + 2 * d + 2 * 32 * H + layers * (attention + ffn + 2 * d) +
                              layers * (2 * attention + ffn + 3 * d);
  const std::map<std::string, int64_t> expected = {
      {"paper-transformer-base", transformer},
      {"paper-depthwise-base", conv_model(3, everywhere(d * 7))},
      {"paper-light-base", conv_model(3, everywhere(H * 7))},
      {"paper-dynamic-base", conv_model(3, everywhere(d * H * 7))},
      {"paper-dilated-base", conv_model(3, dilated)},
      {"paper-gated-base", conv_model(4, everywhere(d * 3))},
  };
  for (const auto& [name, count] : expected) {
    EXPECT_EQ(Seq2Seq(find_model_config(name)).parameter_count(), count) << name;
    EXPECT_GE(count, 200'000'000) << name;
    EXPECT_LE(count, 235'000'000) << name;
  }
}

}  // namespace convseq
