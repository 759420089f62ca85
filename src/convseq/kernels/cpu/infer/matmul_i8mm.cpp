#include <arm_neon.h>

#include "convseq/kernels/cpu/infer/instruction_loop.h"
#include "convseq/kernels/cpu/infer/matmul_levels.h"
#include "convseq/kernels/cpu/infer/matmul_tiles.h"

// Matmuls with the instructions that multiply two rows of 16 bytes by two columns of 16 bytes:
// smmla for int8, bfmmla for bf16.
namespace convseq::kernels::CONVSEQ_LEVEL {
namespace {

constexpr int kRows = 6;
constexpr int kPanel = 16;
constexpr int kWide = 2;  // panels for few rows
constexpr int kRowPairs = kRows / 2, kPanelPairs = kPanel / 2;
constexpr int64_t kStep = 16;  // bytes of two rows or columns that one instruction reads

struct Int8Pairs : IntSums<4> {
  using Sums = int32x4_t;
  static constexpr int64_t kBytes = 1;
  CONVSEQ_INLINE static int8x16_t load_pair(const std::byte* from) {
    return vld1q_s8(reinterpret_cast<const int8_t*>(from));
  }
  CONVSEQ_INLINE static Sums multiply(Sums sums, int8x16_t x, int8x16_t w) {
    return vmmlaq_s32(sums, x, w);
  }
};

struct Bf16Pairs : FloatSums<4> {
  using Sums = float32x4_t;
  static constexpr int64_t kBytes = 2;
  CONVSEQ_INLINE static bfloat16x8_t load_pair(const std::byte* from) {
    return vld1q_bf16(reinterpret_cast<const bfloat16_t*>(from));
  }
  CONVSEQ_INLINE static Sums multiply(Sums sums, bfloat16x8_t x, bfloat16x8_t w) {
    return vbfmmlaq_f32(sums, x, w);
  }
};

// The halves of two blocks of 2×2 sums that belong to the same row.
template <int Row, class Sums>
CONVSEQ_INLINE Sums row_of(Sums left, Sums right) {
  const auto a = vreinterpretq_s64_s32(bits_as<int32x4_t>(left));
  const auto b = vreinterpretq_s64_s32(bits_as<int32x4_t>(right));
  return bits_as<Sums>(Row == 0 ? vzip1q_s64(a, b) : vzip2q_s64(a, b));
}

// Rows [row, row + rows), which are Pairs pairs, by Panels panels.
template <class Type, int Pairs, int Panels>
[[gnu::noinline]] void pair_tile(const MatmulTask& task, int64_t row, int64_t rows, int64_t column,
                                 WeightPrefetch& prefetch) {
  const int64_t pair_bytes = 2 * task.inputs * Type::kBytes;
  const int64_t panel_bytes = kPanelPairs * pair_bytes;
  const std::byte* x = task.rows + row / 2 * pair_bytes;
  const std::byte* w = task.panels + column / 2 * pair_bytes;
  typename Type::Sums sums[Pairs][Panels * kPanelPairs] = {};
  for_steps<kStep>(pair_bytes, prefetch, [&](int64_t k) CONVSEQ_LAMBDA {
    decltype(Type::load_pair(x)) values[Pairs];
    unroll<Pairs>([&](auto p) CONVSEQ_LAMBDA {
      values[p.kValue] = Type::load_pair(x + kRowPairs * k + p.kValue * kStep);
    });
    unroll<Panels * kPanelPairs>([&](auto c) CONVSEQ_LAMBDA {
      constexpr int kColumn = c.kValue;
      const auto weights = Type::load_pair(w + kColumn / kPanelPairs * panel_bytes +
                                           kPanelPairs * k + kColumn % kPanelPairs * kStep);
      unroll<Pairs>([&](auto p) CONVSEQ_LAMBDA {
        auto& sum = sums[p.kValue][kColumn];
        sum = Type::multiply(sum, values[p.kValue], weights);
      });
    });
  });
  typename Type::Sums tile[2 * Pairs][Panels * kPanelPairs / 2];
  unroll<Pairs>([&](auto p) CONVSEQ_LAMBDA {
    unroll<Panels * kPanelPairs / 2>([&](auto c) CONVSEQ_LAMBDA {
      const auto left = sums[p.kValue][2 * c.kValue], right = sums[p.kValue][2 * c.kValue + 1];
      tile[2 * p.kValue][c.kValue] = row_of<0>(left, right);
      tile[2 * p.kValue + 1][c.kValue] = row_of<1>(left, right);
    });
  });
  write_sums<Type, 2 * Pairs, Panels * kPanelPairs / 2, 4>(task, row, rows, column, tile);
}

template <class Type>
void multiply(const MatmulTask& task) {
  for_tiles<kRows, kPanel, kWide, kStep / 2 / Type::kBytes, /*Multiple=*/kRows>(
      task, task.inputs * Type::kBytes, task.inputs * Type::kBytes,
      [&](auto rows, auto panels, int64_t row, int64_t column, WeightPrefetch& prefetch)
          CONVSEQ_LAMBDA {
            pair_tile<Type, (rows.kValue + 1) / 2, panels.kValue>(task, row, rows.kValue, column,
                                                                  prefetch);
          });
}

template <class Type>
float repeat(int64_t times) {
  using Values = decltype(Type::load_pair(nullptr));
  return repeat_multiply<typename Type::Sums, Values>(times, Type::multiply);
}

}  // namespace

const MatmulKernel kInt8Matmul = {{.weight_bytes = 1,
                                   .panel = kPanel,
                                   .group = 8,
                                   .input_multiple = 8,
                                   .element = RowElement::Int8,
                                   .row_tile = kRows,
                                   .row_group = 8,
                                   .instruction_rows = 2},
                                  multiply<Int8Pairs>,
                                  {"smmla", kLoopSums * 64, repeat<Int8Pairs>}};
const MatmulKernel kBf16Matmul = {{.weight_bytes = 2,
                                   .panel = kPanel,
                                   .group = 4,
                                   .input_multiple = 4,
                                   .element = RowElement::Bf16,
                                   .row_tile = kRows,
                                   .row_group = 4,
                                   .instruction_rows = 2},
                                  multiply<Bf16Pairs>,
                                  {"bfmmla", kLoopSums * 32, repeat<Bf16Pairs>}};

}  // namespace convseq::kernels::CONVSEQ_LEVEL
