#include "convseq/kernels/cpu/infer/matmul_levels.h"
#include "convseq/kernels/cpu/infer/matmul_tiles.h"

// Matmuls with vectors of fp32 or int32: each sum is one chain of multiply-adds over the inputs.
namespace convseq::kernels::CONVSEQ_LEVEL {
namespace {

constexpr int kRows = 8;
constexpr int kVectors = 2;  // of a panel
constexpr int kPanel = kVectors * kLanes;

typedef int32_t Ints __attribute__((vector_size(4 * kLanes)));
typedef int8_t Bytes __attribute__((vector_size(kLanes)));

CONVSEQ_INLINE Ints load_ints(const int8_t* from) {
  Bytes bytes;
  __builtin_memcpy(&bytes, from, sizeof bytes);
  return __builtin_convertvector(bytes, Ints);
}

template <int R, int Panels, class Weight>
CONVSEQ_INLINE void float_tile(const MatmulTask& task, int64_t row, int64_t column) {
  const int64_t inputs = task.inputs;
  const auto* x = reinterpret_cast<const float*>(task.rows) + row * inputs;
  const auto* w = reinterpret_cast<const Weight*>(task.panels) + column * inputs;
  Floats<kLanes> sums[R][Panels * kVectors] = {};
  for (int64_t k = 0; k < inputs; ++k) {
    unroll<Panels>([&](auto p) CONVSEQ_LAMBDA {
      unroll<kVectors>([&](auto v) CONVSEQ_LAMBDA {
        const auto weights = load<kLanes>(w + (p.kValue * inputs + k) * kPanel + v.kValue * kLanes);
        unroll<R>([&](auto r) CONVSEQ_LAMBDA {
          sums[r.kValue][p.kValue * kVectors + v.kValue] += weights * x[r.kValue * inputs + k];
        });
      });
    });
  }
  unroll<R>([&](auto r) CONVSEQ_LAMBDA {
    unroll<Panels * kVectors>([&](auto v) CONVSEQ_LAMBDA {
      write_columns<kLanes>(task, row + r.kValue, column + v.kValue * kLanes,
                            sums[r.kValue][v.kValue]);
    });
  });
}

template <class Weight>
void multiply_floats(const MatmulTask& task) {
  for_tiles<kRows, kPanel>(task, task.inputs * 4,
                           [&](auto rows, auto panels, int64_t row, int64_t column) CONVSEQ_LAMBDA {
                             float_tile<rows.kValue, panels.kValue, Weight>(task, row, column);
                           });
}

template <int R, int Panels>
CONVSEQ_INLINE void int_tile(const MatmulTask& task, int64_t row, int64_t column) {
  const int64_t inputs = task.inputs;
  const auto* x = reinterpret_cast<const int8_t*>(task.rows) + row * inputs;
  const auto* w = reinterpret_cast<const int8_t*>(task.panels) + column * inputs;
  Ints sums[R][Panels * kVectors] = {};
  for (int64_t k = 0; k < inputs; ++k) {
    unroll<Panels>([&](auto p) CONVSEQ_LAMBDA {
      unroll<kVectors>([&](auto v) CONVSEQ_LAMBDA {
        const Ints weights = load_ints(w + (p.kValue * inputs + k) * kPanel + v.kValue * kLanes);
        unroll<R>([&](auto r) CONVSEQ_LAMBDA {
          sums[r.kValue][p.kValue * kVectors + v.kValue] +=
              weights * int32_t{x[r.kValue * inputs + k]};
        });
      });
    });
  }
  unroll<R>([&](auto r) CONVSEQ_LAMBDA {
    unroll<Panels * kVectors>([&](auto v) CONVSEQ_LAMBDA {
      write_scaled<kLanes>(task, row + r.kValue, column + v.kValue * kLanes,
                           __builtin_convertvector(sums[r.kValue][v.kValue], Floats<kLanes>));
    });
  });
}

void multiply_ints(const MatmulTask& task) {
  for_tiles<kRows, kPanel>(task, task.inputs,
                           [&](auto rows, auto panels, int64_t row, int64_t column) CONVSEQ_LAMBDA {
                             int_tile<rows.kValue, panels.kValue>(task, row, column);
                           });
}

}  // namespace

const MatmulKernel kFp32Matmul = {{.weight_bytes = 4, .panel = kPanel}, multiply_floats<float>};
const MatmulKernel kBf16Matmul = {
    {.weight_bytes = 2, .panel = kPanel, .element = RowElement::Fp32OfBf16}, multiply_floats<Bf16>};
const MatmulKernel kInt8Matmul = {{.weight_bytes = 1, .panel = kPanel, .element = RowElement::Int8},
                                  multiply_ints};

}  // namespace convseq::kernels::CONVSEQ_LEVEL
