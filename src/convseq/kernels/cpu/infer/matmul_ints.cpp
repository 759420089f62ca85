#include "convseq/kernels/cpu/infer/instruction_loop.h"
#include "convseq/kernels/cpu/infer/matmul_levels.h"
#include "convseq/kernels/cpu/infer/matmul_tiles.h"

// The int8 matmul of CPUs without instructions for it: weights are widened to 32 bits.
namespace convseq::kernels::CONVSEQ_LEVEL {
namespace {

#ifdef __aarch64__
constexpr int kVectors = 4;  // of a panel
constexpr const char* kInstruction = "mla";
#else
constexpr int kVectors = 2;
constexpr const char* kInstruction = "pmuludq";
#endif
constexpr int kRows = 6;
constexpr int kPanel = kVectors * kLanes;
constexpr int kWide = 2;  // panels for few rows

typedef int32_t Ints __attribute__((vector_size(4 * kLanes)));
typedef int8_t Bytes __attribute__((vector_size(kLanes)));

CONVSEQ_INLINE Ints load_ints(const int8_t* from) {
  Bytes bytes;
  __builtin_memcpy(&bytes, from, sizeof bytes);
  return __builtin_convertvector(bytes, Ints);
}

template <int R, int Panels>
[[gnu::noinline]] void tile(const MatmulTask& task, int64_t row, int64_t column,
                            WeightPrefetch& prefetch) {
  const int64_t inputs = task.inputs;
  const auto* x = reinterpret_cast<const int8_t*>(task.rows) + row * task.row_stride;
  const auto* w = reinterpret_cast<const int8_t*>(task.panels) + column * inputs;
  Ints sums[R][Panels * kVectors] = {};
  for_steps<1>(inputs, prefetch, [&](int64_t k) CONVSEQ_LAMBDA {
    unroll<Panels>([&](auto p) CONVSEQ_LAMBDA {
      unroll<kVectors>([&](auto v) CONVSEQ_LAMBDA {
        const Ints weights = load_ints(w + (p.kValue * inputs + k) * kPanel + v.kValue * kLanes);
        unroll<R>([&](auto r) CONVSEQ_LAMBDA {
          sums[r.kValue][p.kValue * kVectors + v.kValue] +=
              weights * int32_t{x[r.kValue * task.row_stride + k]};
        });
      });
    });
  });
  write_sums<IntSums<kLanes>, R, Panels * kVectors, kLanes>(task, row, R, column, sums);
}

void multiply(const MatmulTask& task) {
  for_tiles<kRows, kPanel, kWide, 1>(
      task, task.inputs, task.inputs,
      [&](auto rows, auto panels, int64_t row, int64_t column, WeightPrefetch& prefetch)
          CONVSEQ_LAMBDA { tile<rows.kValue, panels.kValue>(task, row, column, prefetch); });
}

// Unsigned, because the sums overflow.
float repeat(int64_t times) {
  typedef uint32_t Bits __attribute__((vector_size(4 * kLanes)));
  return repeat_multiply<Bits, Bits>(
      times, [](Bits sum, Bits x, Bits w) CONVSEQ_LAMBDA { return sum + x * w; });
}

constexpr int64_t kLoopOperations = 2 * kLoopSums * kLanes;

}  // namespace

const MatmulKernel kInt8Matmul = {
    {.weight_bytes = 1, .panel = kPanel, .input_multiple = 8, .element = RowElement::Int8},
    multiply,
    {kInstruction, kLoopOperations, repeat}};

}  // namespace convseq::kernels::CONVSEQ_LEVEL
