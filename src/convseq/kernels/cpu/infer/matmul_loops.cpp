#include "convseq/kernels/cpu/infer/instruction_loop.h"
#include "convseq/kernels/cpu/infer/matmul_levels.h"
#include "convseq/kernels/cpu/infer/matmul_tiles.h"

// Matmuls with vectors of fp32: each sum is one chain of multiply-adds over the inputs.
namespace convseq::kernels::CONVSEQ_LEVEL {
namespace {

// The tile fits the registers: 32 on Arm and with AVX-512, 16 otherwise on x86.
#ifdef __aarch64__
constexpr int kRows = 6, kVectors = 4, kWide = 2;  // kVectors per panel, kWide panels for few rows
#else
constexpr int kRows = kLanes == 16 ? 12 : 6, kVectors = 2, kWide = kLanes == 16 ? 4 : 2;
#endif
constexpr int kPanel = kVectors * kLanes;
constexpr int kInputs = 4;  // of a step

template <int R, int Panels, class Weight>
[[gnu::noinline]] void float_tile(const MatmulTask& task, int64_t row, int64_t column,
                                  WeightPrefetch& prefetch) {
  constexpr int kAll = Panels * kVectors;
  const int64_t inputs = task.inputs, stride = task.row_stride;
  const auto* x = reinterpret_cast<const float*>(task.rows) + row * stride;
  const auto* w = reinterpret_cast<const Weight*>(task.panels) + column * inputs;
  const auto weights_at = [&](int vector, int64_t k) CONVSEQ_LAMBDA {
    return w + (vector / kVectors * inputs + k) * kPanel + vector % kVectors * kLanes;
  };
  Floats<kLanes> sums[R][kAll] = {};
  // In these orders, sums, rows and weights fit the registers.
#ifdef __aarch64__  // multiplies by a lane of a vector
  for_steps<kInputs>(inputs, prefetch, [&](int64_t k) CONVSEQ_LAMBDA {
    Floats<kInputs> values[R];
    unroll<R>([&](auto r)
                  CONVSEQ_LAMBDA { values[r.kValue] = load<kInputs>(x + r.kValue * stride + k); });
    unroll<kInputs * kAll>([&](auto i) CONVSEQ_LAMBDA {
      constexpr int kInput = i.kValue / kAll, kVector = i.kValue % kAll;
      const auto weights = load<kLanes>(weights_at(kVector, k + kInput));
      unroll<R>([&](auto r) CONVSEQ_LAMBDA {
        auto& sum = sums[r.kValue][kVector];
        sum = fma<kLanes>(weights, values[r.kValue][kInput], sum);
      });
    });
  });
#else  // by a broadcast load
  const RowPairs<R> pairs(x, stride * int64_t{sizeof(float)});
  for_steps<kInputs>(inputs, prefetch, [&](int64_t k) CONVSEQ_LAMBDA {
    pairs.template for_steps<float, kInputs>(k * 4, [&](auto n, const auto& values) CONVSEQ_LAMBDA {
      Floats<kLanes> weights[kAll];
      unroll<kAll>([&](auto v) CONVSEQ_LAMBDA {
        const Weight* at = weights_at(v.kValue, k + n.kValue);
        weights[v.kValue] = load<kLanes>(at);
        if (begins_line<Weight>(v.kValue * kLanes)) __builtin_prefetch(at + kStepsAhead * kPanel);
      });
      values([&](auto r, float value) CONVSEQ_LAMBDA {
        unroll<kAll>([&](auto v) CONVSEQ_LAMBDA {
          auto& sum = sums[r.kValue][v.kValue];
          sum = fma<kLanes>(weights[v.kValue], value, sum);
        });
      });
    });
  });
#endif
  write_tile<R, kAll, kLanes>(task, row, R, column, sums);
}

template <class Weight>
void multiply_floats(const MatmulTask& task) {
  for_tiles<kRows, kPanel, kWide, kInputs>(
      task, task.inputs * 4, task.inputs * int64_t{sizeof(Weight)},
      [&](auto rows, auto panels, int64_t row, int64_t column, WeightPrefetch& prefetch)
          CONVSEQ_LAMBDA {
            float_tile<rows.kValue, panels.kValue, Weight>(task, row, column, prefetch);
          });
}

#if defined(__aarch64__)
constexpr const char* kInstruction = "fmla";
#elif defined(__FMA__)
constexpr const char* kInstruction = "vfmadd";
#else
constexpr const char* kInstruction = "mulps";
#endif

float repeat_floats(int64_t times) {
  return repeat_multiply<Floats<kLanes>, Floats<kLanes>>(
      times, [](Floats<kLanes> sum, Floats<kLanes> x, Floats<kLanes> w)
                 CONVSEQ_LAMBDA { return fma<kLanes>(x, w, sum); });
}

constexpr int64_t kLoopOperations = 2 * kLoopSums * kLanes;

}  // namespace

const MatmulKernel kFp32Matmul = {{.weight_bytes = 4, .panel = kPanel, .input_multiple = kInputs},
                                  multiply_floats<float>,
                                  {kInstruction, kLoopOperations, repeat_floats}};
const MatmulKernel kBf16Matmul = {{.weight_bytes = 2,
                                   .panel = kPanel,
                                   .input_multiple = kInputs,
                                   .element = RowElement::Fp32OfBf16},
                                  multiply_floats<Bf16>,
                                  {kInstruction, kLoopOperations, repeat_floats}};

}  // namespace convseq::kernels::CONVSEQ_LEVEL
