#include <gtest/gtest.h>

#include <cmath>

#include "convseq/kernels/attention_rows.h"
#include "kernels/packed_buffer.h"

namespace convseq::kernels {
namespace {

struct Case {
  explicit Case(SequenceAttention sizes) : attention(sizes), width(sizes.heads * sizes.channels) {
    const int64_t distances = 2 * sizes.bias.max_distance + 1;
    q = random_floats(sizes.queries * width, 1);
    k = random_floats(sizes.keys * width, 2);
    v = random_floats(sizes.keys * width, 3);
    bias = random_floats(sizes.heads * distances, 4);
    for (float& value : q) value *= 0.3F;
  }

  std::vector<float> run(CpuLevel level, RowRange queries) {
    std::vector<float> out(q.size(), -7);
    auto wanted = attention;
    wanted.q = {q.data(), width};
    wanted.k = {k.data(), width};
    wanted.v = {v.data(), width};
    wanted.bias.data = attention.bias.max_distance > 0 ? bias.data() : nullptr;
    wanted.out = out.data();
    wanted.out_stride = width;
    wanted.level = level;
    attention_rows(wanted, {0, attention.heads}, queries);
    return out;
  }

  std::vector<double> expected(int64_t query, int64_t head) const {
    const int64_t position = attention.first_position + query, most = attention.bias.max_distance;
    const auto at = [&](const std::vector<float>& rows, int64_t row, int64_t c) {
      return double{rows[static_cast<size_t>(row * width + head * attention.channels + c)]};
    };
    double total = 0;
    std::vector<double> out(static_cast<size_t>(attention.channels));
    for (int64_t j = 0; j < attention.keys; ++j) {
      if (attention.causal && j > position) continue;
      double score = 0;
      for (int64_t c = 0; c < attention.channels; ++c) score += at(q, query, c) * at(k, j, c);
      if (most > 0) {
        const int64_t distance = std::clamp(j - position, -most, most);
        score += bias[static_cast<size_t>(head * (2 * most + 1) + most + distance)];
      }
      total += std::exp(score);
      for (int64_t c = 0; c < attention.channels; ++c) {
        out[static_cast<size_t>(c)] += std::exp(score) * at(v, j, c);
      }
    }
    for (double& value : out) value = total > 0 ? value / total : 0;
    return out;
  }

  SequenceAttention attention;
  int64_t width;
  std::vector<float> q, k, v, bias;
};

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const int64_t channels : {1, 6, 64, 72}) {
    for (const int64_t keys : {1, 3, 8, 17, 65}) {
      for (const int64_t max_distance : {0, 5, 128}) {
        const SequenceAttention sizes{.heads = 3,
                                      .channels = channels,
                                      .queries = keys,
                                      .keys = keys,
                                      .bias = {.max_distance = max_distance}};
        all.emplace_back(sizes);
        all.emplace_back(sizes).attention.causal = true;
      }
    }
  }
  all.emplace_back(SequenceAttention{.heads = 2, .channels = 32, .queries = 7, .keys = 19});
  all.emplace_back(SequenceAttention{.heads = 2, .channels = 32, .queries = 3, .keys = 0});
  return all;
}

}  // namespace

TEST(AttentionCpu, EveryLevelEqualsTheFormula) {
  for (const CpuLevel level : cpu_levels()) {
    for (Case& each : cases()) {
      const auto& [heads, channels, queries, keys] =
          std::tie(each.attention.heads, each.attention.channels, each.attention.queries,
                   each.attention.keys);
      const auto out = each.run(level, {0, queries});
      for (int64_t q = 0; q < queries; ++q) {
        for (int64_t h = 0; h < heads; ++h) {
          const auto wanted = each.expected(q, h);
          for (int64_t c = 0; c < channels; ++c) {
            ASSERT_NEAR(out[static_cast<size_t>(q * each.width + h * channels + c)],
                        wanted[static_cast<size_t>(c)], 1e-5)
                << keys << " keys, " << channels << " channels, causal " << each.attention.causal;
          }
        }
      }
    }
  }
}

TEST(AttentionCpu, AQueryAloneOverACacheEqualsTheQueryAmongOthers) {
  for (const CpuLevel level : cpu_levels()) {
    for (Case& each : cases()) {
      const auto together = each.run(level, {0, each.attention.queries});
      for (int64_t q = 0; q < each.attention.queries; ++q) {
        Case step = each;
        if (each.attention.causal) step.attention.keys = q + 1;  // what a decoder has by then
        const auto alone = step.run(level, {q, q + 1});
        ASSERT_TRUE(
            same_bits(alone.data() + q * each.width, together.data() + q * each.width, each.width));
      }
    }
  }
}

}  // namespace convseq::kernels
