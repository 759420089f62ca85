#include "convseq/kernels/cpu/infer/matmul_levels.h"
#include "convseq/kernels/cpu/infer/matmul_tiles.h"

// Matmuls with AMX: one instruction multiplies 64 bytes of 16 rows by 64 bytes of 16 outputs. Rows
// and weights are packed so that a tile of either is one piece of memory.
namespace convseq::kernels::CONVSEQ_LEVEL {
namespace {

constexpr int kTile = 16;           // rows or outputs of a tile; a panel is one tile wide
constexpr int64_t kTileBytes = 64;  // of a row or of an output

typedef int32_t Ints __attribute__((vector_size(64)));

// Registers: four tiles of sums, two of rows, two of weights.
constexpr int kSumTiles = 4, kFirstRowTile = 4, kFirstWeightTile = 6;

// Not intrinsics: those take only literals as registers, and not all say that they access memory.
template <int Register>
CONVSEQ_INLINE void load_tile(const void* from, int64_t stride = kTileBytes) {
  asm volatile("tileloadd (%1,%2,1), %%tmm%c0"
               :
               : "i"(Register), "r"(from), "r"(stride)
               : "memory");
}

template <int Register>
CONVSEQ_INLINE void store_tile(void* to, int64_t stride) {
  asm volatile("tilestored %%tmm%c0, (%1,%2,1)" : : "i"(Register), "r"(to), "r"(stride) : "memory");
}

// The inputs are unsigned, q + 128.
struct Int8Tiles : IntSums<16> {
  static constexpr int64_t kBytes = 1;
  template <int Sums>
  CONVSEQ_INLINE static void start(const MatmulTask& task, int64_t column) {
    load_tile<Sums>(task.column_starts + column, /*stride=*/0);  // all rows are the same
  }
  template <int Sums, int Rows, int Weights>
  CONVSEQ_INLINE static void multiply() {
    asm volatile("tdpbusd %%tmm%c2, %%tmm%c1, %%tmm%c0" : : "i"(Sums), "i"(Rows), "i"(Weights));
  }
};

struct Bf16Tiles : FloatSums<16> {
  static constexpr int64_t kBytes = 2;
  template <int Sums>
  CONVSEQ_INLINE static void start(const MatmulTask&, int64_t) {
    asm volatile("tilezero %%tmm%c0" : : "i"(Sums));
  }
  template <int Sums, int Rows, int Weights>
  CONVSEQ_INLINE static void multiply() {
    asm volatile("tdpbf16ps %%tmm%c2, %%tmm%c1, %%tmm%c0" : : "i"(Sums), "i"(Rows), "i"(Weights));
  }
};

// The sums of one block of the output, V tiles wide. They are written row by row between the tile
// instructions of the next block, which would otherwise wait for the epilogue.
template <class Type, int V>
struct Block {
  alignas(kTileBytes) float sums[kSumTiles * kTile * kTile];  // as bits: they may be int32
  int64_t row = 0, rows = 0, column = 0;                      // those that are still to be written
  const float* next = sums;

  void write_part(const MatmulTask& task) {
    constexpr int kPart = 8 / V;
    with_count<kPart>(smaller<int64_t>(kPart, rows), [&](auto count) CONVSEQ_LAMBDA {
      constexpr int kCount = count.kValue;
      Floats<16> part[kCount][V];
      unroll<kCount * V>([&](auto i) CONVSEQ_LAMBDA {
        part[i.kValue / V][i.kValue % V] = load<16>(next + i.kValue * 16);
      });
      write_sums<Type, kCount, V, 16>(task, row, kCount, column, part);
      row += count.kValue;
      rows -= count.kValue;
      next += count.kValue * V * 16;
    });
  }

  void write(const MatmulTask& task) {
    while (rows > 0) write_part(task);
  }

  // The product of RowTiles · 16 rows, of which `new_rows` exist, and V panels. Weights that are
  // not in the L1 cache yet are fetched one step ahead.
  template <int RowTiles>
  [[gnu::noinline]] void multiply(const MatmulTask& task, int64_t new_row, int64_t new_rows,
                                  int64_t new_column, bool fetches_weights) {
    static_assert(RowTiles * V <= kSumTiles);
    const int64_t row_bytes = task.inputs * Type::kBytes;
    const std::byte* x = task.rows + new_row * row_bytes;
    const std::byte* w = task.panels + new_column * row_bytes;
    unroll<RowTiles * V>([&](auto i) CONVSEQ_LAMBDA {
      Type::template start<i.kValue>(task, new_column + i.kValue % V * kTile);
    });
    for (int64_t k = 0; k < row_bytes; k += kTileBytes) {
      if (fetches_weights) {
        unroll<V * kTile>([&](auto i) CONVSEQ_LAMBDA {
          __builtin_prefetch(w + kTile * (i.kValue / kTile * row_bytes + k + kTileBytes) +
                             i.kValue % kTile * kLine);
        });
      }
      unroll<RowTiles>([&](auto r) CONVSEQ_LAMBDA {
        load_tile<kFirstRowTile + r.kValue>(x + kTile * (r.kValue * row_bytes + k));
      });
      unroll<V>([&](auto v) CONVSEQ_LAMBDA {
        constexpr int kWeights = kFirstWeightTile + v.kValue % 2;
        load_tile<kWeights>(w + kTile * (v.kValue * row_bytes + k));
        unroll<RowTiles>([&](auto r) CONVSEQ_LAMBDA {
          Type::template multiply<r.kValue * V + v.kValue, kFirstRowTile + r.kValue, kWeights>();
        });
      });
      if (rows > 0) write_part(task);
    }
    write(task);
    unroll<RowTiles * V>([&](auto i) CONVSEQ_LAMBDA {
      store_tile<i.kValue>(sums + (i.kValue / V * kTile * V + i.kValue % V) * kTile,
                           V * kTileBytes);
    });
    row = new_row;
    rows = new_rows;
    column = new_column;
    next = sums;
  }
};

struct alignas(64) TileConfiguration {
  uint8_t palette = 1;
  uint8_t reserved[15] = {};
  uint16_t row_bytes[16] = {};
  uint8_t rows[16] = {};
};

CONVSEQ_INLINE void configure_tiles() {
  TileConfiguration configuration;
  for (int i = 0; i < 8; ++i) {
    configuration.row_bytes[i] = kTileBytes;
    configuration.rows[i] = kTile;
  }
  asm volatile("ldtilecfg %0" : : "m"(configuration));
}

// All rows by the panels of [begin, end), V at a time. Rows are cut into blocks that stay in the L2
// cache; over each of them pass the panels.
template <class Type, int V>
void multiply_panels(const MatmulTask& task, int64_t begin, int64_t end) {
  constexpr int kRowTiles = kSumTiles / V < 2 ? 1 : 2;
  constexpr int kRows = kRowTiles * kTile;
  const int64_t row_bytes = task.inputs * Type::kBytes;
  const int64_t row_block = rows_in_cache<kRows>(task.cache_bytes, row_bytes);
  Block<Type, V> block;
  for (int64_t first = 0; first < task.row_count; first += row_block) {
    const int64_t last = smaller(first + row_block, task.row_count);
    for (int64_t column = begin; column < end; column += V * kTile) {
      for (int64_t row = first; row < last; row += kRows) {
        const int64_t rows = smaller<int64_t>(kRows, last - row);
        const bool fetches_weights = row == first;
        if (rows > kTile) {
          block.template multiply<kRowTiles>(task, row, rows, column, fetches_weights);
        } else {
          block.template multiply<1>(task, row, rows, column, fetches_weights);
        }
      }
    }
  }
  block.write(task);
}

template <class Type>
float repeat(int64_t times) {
  configure_tiles();
  for (int64_t time = 0; time < times; ++time) {
    unroll<kSumTiles>([&](auto i) CONVSEQ_LAMBDA {
      Type::template multiply<i.kValue, kFirstRowTile + i.kValue / 2,
                              kFirstWeightTile + i.kValue % 2>();
    });
  }
  asm volatile("tilerelease");
  return 0;
}

// R int8 rows by V panels with vpdpbusd: tiles would be nearly empty. The sums are exact, and so
// the same.
template <int R, int V>
[[gnu::noinline]] void multiply_few_rows(const MatmulTask& task, int64_t column) {
  const int64_t inputs = task.inputs;
  const std::byte* w = task.panels + column * inputs;
  Ints sums[R][V];
  unroll<R * V>([&](auto i) CONVSEQ_LAMBDA {
    __builtin_memcpy(&sums[i.kValue / V][i.kValue % V],
                     task.column_starts + column + i.kValue % V * kTile, sizeof(Ints));
  });
  for (int64_t k = 0; k < inputs; k += 4) {
    const std::byte* x = task.rows + k / kTileBytes * kTileBytes * kTile + k % kTileBytes;
    Ints values[R];
    unroll<R>([&](auto r) CONVSEQ_LAMBDA {
      int32_t four;
      __builtin_memcpy(&four, x + r.kValue * kTileBytes, sizeof four);
      values[r.kValue] = four - Ints{};
    });
    unroll<V>([&](auto v) CONVSEQ_LAMBDA {
      const __m512i weights = _mm512_loadu_si512(w + (v.kValue * inputs + k) * kTile);
      unroll<R>([&](auto r) CONVSEQ_LAMBDA {
        Ints& sum = sums[r.kValue][v.kValue];
        sum = (Ints)_mm512_dpbusd_epi32((__m512i)sum, (__m512i)values[r.kValue], weights);
      });
    });
  }
  write_sums<IntSums<16>, R, V, 16>(task, 0, R, column, sums);
}

// Up to 16 rows take four panels at once, so that there are enough independent sums; otherwise two.
template <class Type>
void multiply(const MatmulTask& task) {
  const int64_t panels = (task.columns.end - task.columns.begin + kTile - 1) / kTile;
  const int64_t together = task.row_count <= kTile ? 4 : 2;
  const int64_t begin = task.columns.begin, end = task.columns.end;
  const int64_t middle = begin + panels / together * together * kTile;
  configure_tiles();
  if (together == 4) {
    multiply_panels<Type, 4>(task, begin, smaller(middle, end));
  } else {
    multiply_panels<Type, 2>(task, begin, smaller(middle, end));
  }
  if (middle < end) multiply_panels<Type, 1>(task, middle, end);
  asm volatile("tilerelease");
}

void multiply_int8(const MatmulTask& task) {
  constexpr int kFew = 4;
  if (task.row_count > kFew) return multiply<Int8Tiles>(task);
  with_count<kFew>(task.row_count, [&](auto rows) CONVSEQ_LAMBDA {
    int64_t column = task.columns.begin;
    for (; column + 3 * kTile < task.columns.end; column += 4 * kTile) {
      multiply_few_rows<rows.kValue, 4>(task, column);
    }
    for (; column < task.columns.end; column += kTile) {
      multiply_few_rows<rows.kValue, 1>(task, column);
    }
  });
}

}  // namespace

const MatmulKernel kInt8Matmul = {{.weight_bytes = 1,
                                   .panel = kTile,
                                   .group = 4,
                                   .input_multiple = 64,
                                   .element = RowElement::Uint8,
                                   .row_tile = kTile,
                                   .row_group = 64,
                                   .instruction_rows = kTile},
                                  multiply_int8,
                                  {"tdpbusd", kSumTiles * 32768, repeat<Int8Tiles>}};
const MatmulKernel kBf16Matmul = {{.weight_bytes = 2,
                                   .panel = kTile,
                                   .group = 2,
                                   .input_multiple = 32,
                                   .element = RowElement::Bf16,
                                   .row_tile = kTile,
                                   .row_group = 32,
                                   .instruction_rows = kTile},
                                  multiply<Bf16Tiles>,
                                  {"tdpbf16ps", kSumTiles * 16384, repeat<Bf16Tiles>}};

}  // namespace convseq::kernels::CONVSEQ_LEVEL
