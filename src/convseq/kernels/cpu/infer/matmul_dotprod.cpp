#include <arm_neon.h>

#include "convseq/kernels/cpu/infer/instruction_loop.h"
#include "convseq/kernels/cpu/infer/matmul_levels.h"
#include "convseq/kernels/cpu/infer/matmul_tiles.h"

// The int8 matmul with sdot: four inputs of four outputs per instruction.
namespace convseq::kernels::CONVSEQ_LEVEL {
namespace {

constexpr int kRows = 8;
constexpr int kPanel = 8;
constexpr int kWide = 4;  // panels for few rows
constexpr int kVectors = kPanel / 4;
constexpr int kGroup = 4;
constexpr int kInputs = 16;  // of a row, per load

template <int R, int Panels>
[[gnu::noinline]] void tile(const MatmulTask& task, int64_t row, int64_t column,
                            WeightPrefetch& prefetch) {
  const int64_t inputs = task.inputs, stride = task.row_stride;
  const auto* x = reinterpret_cast<const int8_t*>(task.rows) + row * stride;
  const auto* w = reinterpret_cast<const int8_t*>(task.panels) + column * inputs;
  int32x4_t sums[R][Panels * kVectors] = {};
  for_steps<kInputs>(inputs, prefetch, [&](int64_t k) CONVSEQ_LAMBDA {
    int8x16_t values[R];
    unroll<R>([&](auto r)
                  CONVSEQ_LAMBDA { values[r.kValue] = vld1q_s8(x + r.kValue * stride + k); });
    unroll<kInputs / kGroup>([&](auto g) CONVSEQ_LAMBDA {
      unroll<Panels * kVectors>([&](auto v) CONVSEQ_LAMBDA {
        constexpr int kVector = v.kValue;
        const auto weights = vld1q_s8(w + kVector / kVectors * kPanel * inputs +
                                      (k + g.kValue * kGroup) * kPanel + kVector % kVectors * 16);
        unroll<R>([&](auto r) CONVSEQ_LAMBDA {
          auto& sum = sums[r.kValue][kVector];
          sum = vdotq_laneq_s32(sum, weights, values[r.kValue], g.kValue);
        });
      });
    });
  });
  write_sums<IntSums<4>, R, Panels * kVectors, 4>(task, row, R, column, sums);
}

void multiply(const MatmulTask& task) {
  for_tiles<kRows, kPanel, kWide, kInputs>(
      task, task.inputs, task.inputs,
      [&](auto rows, auto panels, int64_t row, int64_t column, WeightPrefetch& prefetch)
          CONVSEQ_LAMBDA { tile<rows.kValue, panels.kValue>(task, row, column, prefetch); });
}

float repeat(int64_t times) {
  return repeat_multiply<int32x4_t, int8x16_t>(
      times, [](int32x4_t sum, int8x16_t x, int8x16_t w)
                 CONVSEQ_LAMBDA { return vdotq_laneq_s32(sum, w, x, 0); });
}

}  // namespace

const MatmulKernel kInt8Matmul = {{.weight_bytes = 1,
                                   .panel = kPanel,
                                   .group = kGroup,
                                   .input_multiple = kInputs,
                                   .element = RowElement::Int8},
                                  multiply,
                                  {"sdot", kLoopSums * 32, repeat}};

}  // namespace convseq::kernels::CONVSEQ_LEVEL
