#include "convseq/kernels/cpu/infer/matmul_levels.h"
#include "convseq/kernels/cpu/infer/matmul_tiles.h"

// Matmuls with AMX: one instruction multiplies 64 bytes of 16 rows by 64 bytes of 16 outputs. Rows
// and weights are packed so that a tile of either is one piece of memory.
namespace convseq::kernels::CONVSEQ_LEVEL {
namespace {

constexpr int kTile = 16;                    // rows or outputs of a tile; a panel is one tile wide
constexpr int64_t kTileBytes = 64;           // of a row or of an output
constexpr int64_t kGroupBytes = 128 * 1024;  // of panels

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

// The sums of one block of the output, V tiles wide. They leave the registers one by one in the
// first step of the next block, each just before it is taken again: four stores in a row would fill
// the scheduler while they wait for the last multiplications. They are written to the output a tile
// per step, which the tile instructions hide.
template <class Type, int V>
struct Block {
  static constexpr int kTileValues = kTile * kTile;
  static constexpr int kWait = 2;  // steps from the one that stores the sums to the first reader

  alignas(kTileBytes) float sums[kSumTiles * kTileValues];  // as bits: they may be int32
  int64_t row = 0, rows = 0, column = 0;                    // of the last block
  int tiles = 0;                                            // of its sums, still in registers
  int next = kSumTiles;                                     // tile of `sums` to be written

  // Tile `index` of the output: the tiles of a row of tiles stand side by side.
  void write_tile(const MatmulTask& task, int index) const {
    const int64_t first = index / V * kTile, count = smaller<int64_t>(kTile, rows - first);
    const int64_t to = column + index % V * kTile;
    const float* from = sums + index * kTileValues;
    if (count == kTile) return write_rows<kTile>(task, row + first, to, from);
    for (int64_t r = 0; r < count; ++r) {
      write_rows<1>(task, row + first + r, to, from + r * kTile);
    }
  }

  template <int R>
  CONVSEQ_INLINE static void write_rows(const MatmulTask& task, int64_t row, int64_t column,
                                        const float* from) {
    Floats<16> values[R][1];
    unroll<R>([&](auto r)
                  CONVSEQ_LAMBDA { values[r.kValue][0] = load<16>(from + r.kValue * kTile); });
    write_sums<Type, R, 1, 16>(task, row, R, column, values);
  }

  bool is_written() const { return next == kSumTiles; }
  void write_next(const MatmulTask& task) {
    if (next / V * kTile < rows) write_tile(task, next);
    ++next;
  }
  void write(const MatmulTask& task) {
    while (!is_written()) write_next(task);
  }

  template <int Index>
  CONVSEQ_INLINE void store() {
    if (Index < tiles) store_tile<Index>(sums + Index * kTileValues, kTileBytes);
  }

  // The product of RowTiles · 16 rows, of which `new_rows` exist, and V panels.
  template <int RowTiles>
  [[gnu::noinline]] void multiply(const MatmulTask& task, int64_t new_row, int64_t new_rows,
                                  int64_t new_column, WeightPrefetch& prefetch) {
    static_assert(RowTiles * V <= kSumTiles);
    const int64_t row_bytes = task.inputs * Type::kBytes;
    const std::byte* x = task.rows + new_row * row_bytes;
    const std::byte* w = task.panels + new_column * row_bytes;
    // start(sum, panel) comes before the first multiplication of each tile of sums.
    const auto step = [&](int64_t k, const auto& start) CONVSEQ_LAMBDA {
      unroll<V>([&](auto v) CONVSEQ_LAMBDA {
        constexpr int kWeights = kFirstWeightTile + v.kValue % 2;
        load_tile<kWeights>(w + kTile * (v.kValue * row_bytes + k));
        unroll<RowTiles>([&](auto r) CONVSEQ_LAMBDA {
          if (v.kValue == 0) {
            load_tile<kFirstRowTile + r.kValue>(x + kTile * (r.kValue * row_bytes + k));
          }
          constexpr int kSums = r.kValue * V + v.kValue;
          start(Number<kSums>{}, v);
          Type::template multiply<kSums, kFirstRowTile + r.kValue, kWeights>();
        });
      });
      prefetch.fetch_part();
    };
    step(0, [&](auto sum, auto v) CONVSEQ_LAMBDA {
      store<sum.kValue>();
      Type::template start<sum.kValue>(task, new_column + v.kValue * kTile);
    });
    unroll<kSumTiles - RowTiles * V>([&](auto i)
                                         CONVSEQ_LAMBDA { store<RowTiles * V + i.kValue>(); });
    if (tiles > 0) next = 0;
    for (int64_t k = kTileBytes; k < row_bytes; k += kTileBytes) {
      step(k, [](auto, auto) CONVSEQ_LAMBDA {});
      if (k >= kWait * kTileBytes && !is_written()) write_next(task);
    }
    write(task);
    row = new_row;
    rows = new_rows;
    column = new_column;
    tiles = RowTiles * V;
  }

  void finish(const MatmulTask& task) {
    unroll<kSumTiles>([&](auto i) CONVSEQ_LAMBDA { store<i.kValue>(); });
    if (tiles > 0) next = 0;
    write(task);
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

// All rows by the panels of [begin, end), V at a time. Blocks of rows stay in the L2 cache; over
// them pass groups of panels. The rows of a tile stay in the L1 cache while the panels of a group
// pass, and the next group is fetched meanwhile.
template <class Type, int V>
void multiply_panels(const MatmulTask& task, int64_t begin, int64_t end) {
  constexpr int kRowTiles = kSumTiles / V < 2 ? 1 : 2;
  constexpr int kRows = kRowTiles * kTile;
  constexpr int64_t kColumns = V * kTile;
  const int64_t row_bytes = task.inputs * Type::kBytes;
  const int64_t row_block = rows_in_cache<kRows>(task.cache_bytes, row_bytes);
  const int64_t group = larger<int64_t>(1, kGroupBytes / (row_bytes * kColumns)) * kColumns;
  Block<Type, V> block;
  for (int64_t first = 0; first < task.row_count; first += row_block) {
    const int64_t last = smaller(first + row_block, task.row_count);
    const int64_t row_tiles = (last - first + kRows - 1) / kRows;
    for (int64_t left = begin; left < end; left += group) {
      const int64_t right = smaller(left + group, end);
      const int64_t steps =
          row_tiles * ((right - left + kColumns - 1) / kColumns) * row_bytes / kTileBytes;
      WeightPrefetch prefetch(task.panels + right * row_bytes,
                              (smaller(right + group, end) - right) * row_bytes, steps);
      for (int64_t row = first; row < last; row += kRows) {
        const int64_t rows = smaller<int64_t>(kRows, last - row);
        for (int64_t column = left; column < right; column += kColumns) {
          if constexpr (kRowTiles > 1) {
            if (rows > kTile) {
              block.template multiply<kRowTiles>(task, row, rows, column, prefetch);
              continue;
            }
          }
          block.template multiply<1>(task, row, rows, column, prefetch);
        }
      }
    }
  }
  block.finish(task);
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
