#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "convseq/base/machine.h"
#include "convseq/kernels/packed_matmul.h"
#include "kernels/packed_buffer.h"

namespace convseq::kernels {
namespace {

constexpr WeightType kTypes[] = {WeightType::Fp32, WeightType::Bf16, WeightType::Int8};
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

struct Case {
  int64_t rows, inputs, outputs;
};

float to_bf16(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  bits = (bits + 0x7fff + (bits >> 16 & 1)) & 0xffff0000;
  std::memcpy(&value, &bits, sizeof bits);
  return value;
}

// Rows of whole numbers up to ±127 times a power of two: their quantisation is exact.
std::vector<float> whole_numbers(int64_t rows, int64_t count, float unit, uint32_t seed) {
  std::mt19937 random(seed);
  std::uniform_int_distribution<int> whole(-127, 127);
  std::vector<float> values;
  for (int64_t i = 0; i < rows * count; ++i) {
    values.push_back(unit * static_cast<float>(i % count == 0 ? 127 : whole(random)));
  }
  return values;
}

// Whether the level multiplies int8 by vpmaddubsw, whose sums of two products have 16 bits.
bool rounds_pairs([[maybe_unused]] CpuLevel level) {
#ifdef __x86_64__
  return level == CpuLevel::Avx2 || level == CpuLevel::Avx512;
#else
  return false;
#endif
}

struct Product {
  Product(WeightType wanted, CpuLevel on, const Case& sizes, uint32_t seed = 1)
      : type(wanted), level(on), shape(sizes) {
    const bool whole = type == WeightType::Int8;
    x = whole ? whole_numbers(shape.rows, shape.inputs, 0.25F, seed)
              : random_floats(shape.rows * shape.inputs, seed);
    w = whole ? whole_numbers(shape.outputs, shape.inputs, 0.125F, seed + 1)
              : random_floats(shape.outputs * shape.inputs, seed + 1);
    if (type == WeightType::Bf16) {
      for (float& value : x) value = to_bf16(value);
      for (float& value : w) value = to_bf16(value);
    }
  }

  // The weights as the packed matrix holds them.
  std::vector<float> unpacked() const {
    const OwnedMatrix matrix(matrix_shape(), w);
    std::vector<float> held(w.size());
    for (int64_t o = 0; o < shape.outputs; ++o) {
      unpack_row(matrix.matrix, o, held.data() + o * shape.inputs);
    }
    return held;
  }

  PackedMatrixShape matrix_shape() const { return {shape.outputs, shape.inputs, type, level}; }

  std::vector<float> run(MatmulOutput epilogue = {}) const {
    std::vector<float> y(static_cast<size_t>(shape.rows * shape.outputs), -7);
    const OwnedMatrix matrix(matrix_shape(), w);
    const OwnedRows rows({shape.rows, shape.inputs, type, level}, x.data());
    epilogue.data = y.data();
    epilogue.stride = shape.outputs;
    packed_matmul(rows.rows, matrix.matrix, epilogue);
    return y;
  }

  // The sum, and the sum of magnitudes, of output [row, column].
  std::pair<double, double> expected(int64_t row, int64_t column) const {
    double sum = 0, magnitude = 0;
    for (int64_t i = 0; i < shape.inputs; ++i) {
      const double term = double{x[static_cast<size_t>(row * shape.inputs + i)]} *
                          double{w[static_cast<size_t>(column * shape.inputs + i)]};
      sum += term;
      magnitude += std::abs(term);
    }
    return {sum, magnitude};
  }

  WeightType type;
  CpuLevel level;
  Case shape;
  std::vector<float> x, w;
};

template <class F>
void for_levels_and_types(const F& f) {
  for (const CpuLevel level : cpu_levels()) {
    for (const WeightType type : kTypes) {
      SCOPED_TRACE(std::string(cpu_level_name(level)) + ", type " +
                   std::to_string(static_cast<int>(type)));
      f(level, type);
    }
  }
}

}  // namespace

TEST(PackedMatmulCpu, EveryLevelAndTypeEqualsTheSum) {
  for_levels_and_types([](CpuLevel level, WeightType type) {
    for (const int64_t rows : {1, 2, 3, 7, 8, 9, 17, 63, 64, 65}) {
      for (const auto& [inputs, outputs] :
           {std::pair{1, 1}, {7, 5}, {8, 8}, {9, 17}, {64, 64}, {65, 33}, {100, 130}}) {
        Product product(type, level, {rows, inputs, outputs});
        const auto y = product.run();
        product.w = product.unpacked();
        for (int64_t r = 0; r < rows; ++r) {
          for (int64_t o = 0; o < outputs; ++o) {
            const auto [sum, magnitude] = product.expected(r, o);
            ASSERT_NEAR(y[static_cast<size_t>(r * outputs + o)], sum, 2e-6 * magnitude + 1e-30)
                << rows << "x" << inputs << "x" << outputs << " at " << r << ", " << o;
          }
        }
      }
    }
  });
}

TEST(PackedMatmulCpu, ARowAloneEqualsTheRowAmongOthersInAnyRangeOfColumns) {
  for_levels_and_types([](CpuLevel level, WeightType type) {
    const Case shape{29, 203, 203};
    const Product product(type, level, shape);
    const auto bias = random_floats(shape.outputs, 3);
    const auto y = product.run({.bias = bias.data()});
    const OwnedMatrix matrix(product.matrix_shape(), product.w);
    for (const int64_t together : {1, 2, 3, 5, 8}) {
      for (int64_t r = 0; r + together <= shape.rows; r += together) {
        const OwnedRows some({together, shape.inputs, type, level},
                             product.x.data() + r * shape.inputs);
        std::vector<float> out(static_cast<size_t>(together * shape.outputs));
        for (int64_t begin = 0; begin < shape.outputs; begin += 64) {
          packed_matmul(some.rows, matrix.matrix,
                        {.data = out.data(), .stride = shape.outputs, .bias = bias.data()},
                        {begin, std::min<int64_t>(begin + 64, shape.outputs)});
        }
        ASSERT_TRUE(same_bits(out.data(), y.data() + r * shape.outputs, together * shape.outputs))
            << together << " rows from " << r;
      }
    }
  });
}

// More rows, at a byte per value, than the second-level cache is given at once.
TEST(PackedMatmulCpu, RowsOfSeveralBlocksEqualTheRowsAlone) {
  const int64_t inputs = 3000, block = l2_cache_bytes() * 3 / 8 / inputs;
  const Case shape{block + 33, inputs, 150};
  for_levels_and_types([&](CpuLevel level, WeightType type) {
    const Product product(type, level, shape);
    const auto y = product.run();
    const OwnedMatrix matrix(product.matrix_shape(), product.w);
    for (const int64_t row :
         std::vector<int64_t>{0, 31, 48, 95, 96, block - 1, block, block + 32}) {
      const OwnedRows alone({1, shape.inputs, type, level}, product.x.data() + row * shape.inputs);
      std::vector<float> out(static_cast<size_t>(shape.outputs));
      packed_matmul(alone.rows, matrix.matrix, {.data = out.data(), .stride = shape.outputs});
      EXPECT_TRUE(same_bits(out.data(), y.data() + row * shape.outputs, shape.outputs))
          << "row " << row;
    }
  });
}

TEST(PackedMatmulCpu, TheEpilogueAddsTheBiasThenReluThenTheResidual) {
  for_levels_and_types([](CpuLevel level, WeightType type) {
    const Case shape{11, 40, 37};
    const Product product(type, level, shape);
    const auto plain = product.run();
    const auto bias = random_floats(shape.outputs, 3);
    const auto residual = random_floats(shape.rows * shape.outputs, 4);
    const auto y = product.run({.bias = bias.data(),
                                .relu = true,
                                .residual = residual.data(),
                                .residual_stride = shape.outputs});
    for (size_t i = 0; i < y.size(); ++i) {
      const float sum = plain[i] + bias[i % static_cast<size_t>(shape.outputs)];
      ASSERT_EQ(y[i], (sum < 0 ? 0 : sum) + residual[i]);
    }
  });
}

TEST(PackedMatmulCpu, Int8SumsOfTheExtremesAreExact) {
  for (const CpuLevel level : cpu_levels()) {
    const Case shape{9, 4096, 24};
    Product product(WeightType::Int8, level, shape);
    for (size_t i = 0; i < product.x.size(); ++i) {
      product.x[i] = (i / 4096) % 2 == 0 ? 127 : -127;
    }
    for (size_t i = 0; i < product.w.size(); ++i) {
      product.w[i] = (i / 4096) % 3 == 0 ? 127 : -127;
    }
    const auto y = product.run();
    product.w = product.unpacked();
    for (int64_t r = 0; r < shape.rows; ++r) {
      for (int64_t o = 0; o < shape.outputs; ++o) {
        ASSERT_EQ(y[static_cast<size_t>(r * shape.outputs + o)], product.expected(r, o).first)
            << cpu_level_name(level);
      }
    }
  }
}

TEST(PackedMatmulCpu, ARowOfZerosGivesZerosAndNanStaysInItsRow) {
  for_levels_and_types([](CpuLevel level, WeightType type) {
    const Case shape{5, 70, 20};
    Product product(type, level, shape);
    std::fill_n(product.x.begin(), shape.inputs, 0.0F);
    product.x[static_cast<size_t>(3 * shape.inputs + 1)] = kNan;
    product.x[static_cast<size_t>(4 * shape.inputs + 1)] = std::numeric_limits<float>::infinity();
    const auto y = product.run();
    for (int64_t o = 0; o < shape.outputs; ++o) {
      const auto at = [&](int64_t r) { return y[static_cast<size_t>(r * shape.outputs + o)]; };
      EXPECT_EQ(at(0), 0);
      EXPECT_TRUE(std::isfinite(at(1)) && std::isfinite(at(2)));
      EXPECT_TRUE(std::isnan(at(3)));
      EXPECT_FALSE(std::isfinite(at(4)));
    }
  });
}

TEST(PackedMatmulCpu, AnUnpackedRowIsTheRowThatWasPacked) {
  for_levels_and_types([](CpuLevel level, WeightType type) {
    Product product(type, level, {1, 21, 35});
    if (type == WeightType::Int8 && rounds_pairs(level)) {
      for (size_t i = 0; i < product.w.size(); ++i) {
        if (i % 21 % 2 == 1) product.w[i] = 0.125F * static_cast<float>(i % 3) - 0.125F;
      }
    }
    EXPECT_EQ(product.unpacked(), product.w);
  });
}

// Two neighbouring weights are at most 128 together, so that their products with 255 fit 16 bits.
TEST(PackedMatmulCpu, WithoutAnInstructionForInt8LargePairsOfWeightsGetACoarserScale) {
  for (const CpuLevel level : cpu_levels()) {
    const Product product(WeightType::Int8, level, {1, 21, 35});
    const auto held = product.unpacked();
    for (size_t o = 0; o < 35; ++o) {
      const float* w = product.w.data() + o * 21;
      float pair = 0;
      for (size_t i = 0; i < 21; i += 2) {
        pair = std::max(pair, std::abs(w[i]) + (i + 1 < 21 ? std::abs(w[i + 1]) : 0));
      }
      const float step = rounds_pairs(level) ? pair / 127 : 0;
      for (size_t i = 0; i < 21; ++i) {
        EXPECT_NEAR(held[o * 21 + i], w[i], step * 0.5001F) << cpu_level_name(level);
        if (i % 2 == 1) {
          EXPECT_LE(std::abs(held[o * 21 + i - 1]) + std::abs(held[o * 21 + i]),
                    rounds_pairs(level) ? step * 128.001F : pair);
        }
      }
    }
  }
}

TEST(PackedMatmulCpu, QuantisedWeightsPackAsTheFloatsThatTheyStandFor) {
  for (const CpuLevel level : cpu_levels()) {
    const Product product(WeightType::Int8, level, {1, 21, 35});
    std::vector<int8_t> quantised;
    for (const float value : product.w) quantised.push_back(static_cast<int8_t>(value * 8));
    const std::vector<float> scales(35, 0.125F);
    const OwnedMatrix from_floats(product.matrix_shape(), product.w);
    const AlignedBytes packed(packed_bytes(product.matrix_shape()));
    pack_matrix(product.matrix_shape(), quantised.data(), scales.data(), packed.get());
    EXPECT_EQ(std::memcmp(packed.get(), from_floats.bytes.get(),
                          static_cast<size_t>(packed_bytes(product.matrix_shape()))),
              0);
  }
}

}  // namespace convseq::kernels
