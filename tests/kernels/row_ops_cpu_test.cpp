#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "convseq/kernels/row_ops.h"
#include "kernels/packed_buffer.h"

namespace convseq::kernels {
namespace {

using Numbers = std::vector<double>;

// What a packed row holds, read by a matmul with the identity.
std::vector<float> unpacked(const PackedRows& rows) {
  const auto [count, inputs, type, level] = rows.shape;
  std::vector<float> identity(static_cast<size_t>(inputs * inputs));
  for (int64_t i = 0; i < inputs; ++i) identity[static_cast<size_t>(i * inputs + i)] = 1;
  const OwnedMatrix matrix({inputs, inputs, type, level}, identity);
  std::vector<float> out(static_cast<size_t>(count * inputs));
  packed_matmul(rows, matrix.matrix, {.data = out.data(), .stride = inputs});
  return out;
}

void expect_near(const std::vector<float>& got, const Numbers& wanted, double tolerance) {
  for (size_t i = 0; i < wanted.size(); ++i) {
    ASSERT_NEAR(got[i], wanted[i], tolerance * (1 + std::abs(wanted[i]))) << "at " << i;
  }
}

constexpr int64_t kRows = 5;

// Checks an op that packs kRows rows, for each level, type and some numbers of channels.
void expect_packs(
    const std::function<void(const PackedRows&, const std::vector<float>&)>& op,
    const std::function<Numbers(int64_t channels, const std::vector<float>&)>& expected) {
  for (const CpuLevel level : cpu_levels()) {
    for (const int64_t channels : {1, 6, 16, 67, 128}) {
      const auto x = random_floats(2 * kRows * channels, 5);
      for (const auto& [type, tolerance] : {std::pair{WeightType::Fp32, 3e-6},
                                            {WeightType::Bf16, 1.0 / 250},
                                            {WeightType::Int8, 0.04}}) {
        SCOPED_TRACE(std::string(cpu_level_name(level)) + ", " + std::to_string(channels));
        const OwnedRows packed({kRows, channels, type, level});
        op(packed.rows, x);
        expect_near(unpacked(packed.rows), expected(channels, x), tolerance);
      }
    }
  }
}

Numbers map_pairs(int64_t channels, const std::vector<float>& x,
                  const std::function<double(double, double)>& f) {
  Numbers y;
  for (int64_t i = 0; i < kRows * channels; ++i) {
    y.push_back(f(x[static_cast<size_t>(i)], x[static_cast<size_t>(kRows * channels + i)]));
  }
  return y;
}

Numbers normed(const std::vector<float>& x, int64_t channels, const std::vector<float>& weight,
               const std::vector<float>& bias, double eps) {
  Numbers y;
  for (int64_t r = 0; r < kRows; ++r) {
    const float* row = x.data() + r * channels;
    double mean = 0, square = 0;
    for (int64_t c = 0; c < channels && !bias.empty(); ++c) mean += row[c] / double(channels);
    for (int64_t c = 0; c < channels; ++c) square += (row[c] - mean) * (row[c] - mean);
    const double scale = 1 / std::sqrt(square / double(channels) + eps);
    for (int64_t c = 0; c < channels; ++c) {
      const auto i = static_cast<size_t>(c);
      y.push_back((row[c] - mean) * scale * weight[i] + (bias.empty() ? 0 : bias[i]));
    }
  }
  return y;
}

FloatRows second_half(const std::vector<float>& x, int64_t channels) {
  return {x.data() + kRows * channels, channels};
}

}  // namespace

TEST(RowOpsCpu, PackedRowsHoldTheRows) {
  expect_packs(
      [](const PackedRows& packed, const auto& x) {
        pack_rows({x.data(), packed.shape.inputs}, packed, {0, 2});
        pack_rows({x.data(), packed.shape.inputs}, packed, {2, kRows});
      },
      [](int64_t channels, const auto& x) {
        return map_pairs(channels, x, [](double a, double) { return a; });
      });
}

TEST(RowOpsCpu, GluEqualsItsFormula) {
  expect_packs(
      [](const PackedRows& packed, const auto& x) {
        const int64_t channels = packed.shape.inputs;
        glu_pack_rows({x.data(), channels}, second_half(x, channels), packed, all_rows(packed));
      },
      [](int64_t channels, const auto& x) {
        return map_pairs(channels, x, [](double a, double b) { return a / (1 + std::exp(-b)); });
      });
}

TEST(RowOpsCpu, GatedGeluEqualsItsFormula) {
  expect_packs(
      [](const PackedRows& packed, const auto& x) {
        const int64_t channels = packed.shape.inputs;
        gated_gelu_pack_rows({x.data(), channels}, second_half(x, channels), packed,
                             all_rows(packed));
      },
      [](int64_t channels, const auto& x) {
        return map_pairs(channels, x, [](double g, double a) {
          const double u = std::sqrt(2 / M_PI) * (g + 0.044715 * g * g * g);
          return 0.5 * g * (1 + std::tanh(u)) * a;
        });
      });
}

TEST(RowOpsCpu, NormsEqualTheirFormulas) {
  for (const bool has_bias : {false, true}) {
    const auto weight = random_floats(128, 8);
    const auto bias = has_bias ? random_floats(128, 9) : std::vector<float>();
    const NormParameters norm{weight.data(), has_bias ? bias.data() : nullptr, 1e-6F};
    expect_packs(
        [&](const PackedRows& packed, const auto& x) {
          const int64_t channels = packed.shape.inputs;
          norm_rows(
              {.x = {x.data(), channels}, .channels = channels, .norm = norm, .packed = packed},
              all_rows(packed));
        },
        [&](int64_t channels, const auto& x) { return normed(x, channels, weight, bias, 1e-6); });
  }
}

TEST(RowOpsCpu, ANormAddsItsResidualInPlaceAndPacksTheSum) {
  for (const CpuLevel level : cpu_levels()) {
    const int64_t channels = 67;
    const auto weight = random_floats(channels, 8), bias = random_floats(channels, 9);
    const auto x = random_floats(kRows * channels, 5);
    auto stream = random_floats(kRows * channels, 6);
    auto wanted = normed(x, channels, weight, bias, 1e-6);
    for (size_t i = 0; i < wanted.size(); ++i) wanted[i] += stream[i];
    const OwnedRows packed({kRows, channels, WeightType::Fp32, level});
    norm_rows({.x = {x.data(), channels},
               .channels = channels,
               .norm = {weight.data(), bias.data(), 1e-6F},
               .residual = {stream.data(), channels},
               .out = stream.data(),
               .out_stride = channels,
               .packed = packed.rows},
              all_rows(packed.rows));
    expect_near(stream, wanted, 3e-6);
    EXPECT_EQ(unpacked(packed.rows), stream);
  }
}

TEST(RowOpsCpu, TheMeanIsOverTheRows) {
  for (const CpuLevel level : cpu_levels()) {
    const auto x = random_floats(9 * 21, 5);
    std::vector<float> mean(21);
    mean_rows({x.data(), 21}, 9, 21, mean.data(), level);
    for (size_t c = 0; c < 21; ++c) {
      double sum = 0;
      for (size_t r = 0; r < 9; ++r) sum += x[r * 21 + c];
      EXPECT_NEAR(mean[c], sum / 9, 1e-6);
    }
  }
}

TEST(RowOpsCpu, TheLikeliestTokenIsTheLowestOfTheLargestLogits) {
  for (const CpuLevel level : cpu_levels()) {
    for (const int64_t count : {1, 2, 3, 17, 64, 1000, 32128}) {
      auto logits = random_floats(count, 5);
      for (float& logit : logits) logit *= 10;
      const auto first = static_cast<size_t>(count / 3), second = static_cast<size_t>(count - 1);
      logits[first] = logits[second] = 60;
      double sum = 0;
      for (const float logit : logits) sum += std::exp(double{logit});
      const auto token = likeliest_token(logits.data(), count, level);
      EXPECT_EQ(token.id, static_cast<int64_t>(first));
      EXPECT_NEAR(token.log_probability, 60 - std::log(sum), 1e-5);
      EXPECT_NEAR(log_sum_exp(logits.data(), count, level), std::log(sum), 1e-5);
    }
  }
}

}  // namespace convseq::kernels
