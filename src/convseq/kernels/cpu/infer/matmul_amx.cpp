#include "convseq/kernels/cpu/infer/matmul_levels.h"
#include "convseq/kernels/cpu/infer/matmul_tiles.h"

// Matmuls with AMX: one instruction multiplies 64 bytes of 16 rows by 64 bytes of 16 outputs. The
// weights are packed as for the dot products of AVX-512, the rows in tiles.
namespace convseq::kernels::CONVSEQ_LEVEL {
namespace {

constexpr int kTile = 16;           // rows or outputs of a tile
constexpr int64_t kTileBytes = 64;  // of a row or of an output
constexpr int kPanelTiles = 2;
constexpr int kPanel = kPanelTiles * kTile;
constexpr int64_t kPanelStride = 4 * kPanel;  // bytes from four inputs of a panel to the next four

// Registers: four tiles of sums, two of rows, two of weights.
constexpr int kSumTiles = 4, kFirstRowTile = 4, kFirstWeightTile = 6;

// Not intrinsics: those take only literals as registers, and not all say that they access memory.
template <int Register>
CONVSEQ_INLINE void load_tile(const void* from, int64_t stride) {
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
struct Int8Tiles {
  static constexpr int64_t kBytes = 1;
  template <int Sums>
  CONVSEQ_INLINE static void start(const MatmulTask& task, int64_t column) {
    load_tile<Sums>(task.column_starts + column, /*stride=*/0);  // all rows are the same
  }
  template <int Sums, int Rows, int Weights>
  CONVSEQ_INLINE static void multiply() {
    asm volatile("tdpbusd %%tmm%c2, %%tmm%c1, %%tmm%c0" : : "i"(Sums), "i"(Rows), "i"(Weights));
  }
  template <int R, int V>
  CONVSEQ_INLINE static void write(const MatmulTask& task, int64_t row, int64_t column,
                                   const float* sums) {
    Floats<16> floats[R][V];
    unroll<R * V>([&](auto i) CONVSEQ_LAMBDA {
      floats[i.kValue / V][i.kValue % V] = floats_of<16>(load<16>(sums + i.kValue * 16));
    });
    write_scaled_tile<R, V, 16>(task, row, R, column, floats);
  }
};

struct Bf16Tiles {
  static constexpr int64_t kBytes = 2;
  template <int Sums>
  CONVSEQ_INLINE static void start(const MatmulTask&, int64_t) {
    asm volatile("tilezero %%tmm%c0" : : "i"(Sums));
  }
  template <int Sums, int Rows, int Weights>
  CONVSEQ_INLINE static void multiply() {
    asm volatile("tdpbf16ps %%tmm%c2, %%tmm%c1, %%tmm%c0" : : "i"(Sums), "i"(Rows), "i"(Weights));
  }
  template <int R, int V>
  CONVSEQ_INLINE static void write(const MatmulTask& task, int64_t row, int64_t column,
                                   const float* sums) {
    Floats<16> floats[R][V];
    unroll<R * V>([&](auto i) CONVSEQ_LAMBDA {
      floats[i.kValue / V][i.kValue % V] = load<16>(sums + i.kValue * 16);
    });
    write_tile<R, V, 16>(task, row, R, column, floats);
  }
};

// The sums of one block of the output. They are written while the next block is multiplied, so that
// the tile instructions do not wait.
struct Block {
  alignas(kTileBytes) float sums[kSumTiles * kTile * kTile];  // as bits: they may be int32
  int64_t row = 0, rows = 0, column = 0;

  // RowTiles · 16 rows by Panels panels.
  template <class Type, int RowTiles, int Panels>
  [[gnu::noinline]] void multiply(const MatmulTask& task, int64_t next_row, int64_t next_rows,
                                  int64_t next_column) {
    constexpr int kColumnTiles = Panels * kPanelTiles;
    static_assert(RowTiles * kColumnTiles <= kSumTiles);
    const int64_t row_bytes = task.inputs * Type::kBytes;
    const std::byte* x = task.rows + next_row * row_bytes;
    const std::byte* w = task.panels + next_column * row_bytes;
    unroll<RowTiles * kColumnTiles>([&](auto i) CONVSEQ_LAMBDA {
      Type::template start<i.kValue>(task, next_column + i.kValue % kColumnTiles * kTile);
    });
    for (int64_t k = 0; k < row_bytes; k += kTileBytes) {
      unroll<RowTiles>([&](auto r) CONVSEQ_LAMBDA {
        load_tile<kFirstRowTile + r.kValue>(x + kTile * (r.kValue * row_bytes + k), kTileBytes);
      });
      unroll<kColumnTiles>([&](auto c) CONVSEQ_LAMBDA {
        constexpr int kColumn = c.kValue, kWeights = kFirstWeightTile + kColumn % kPanelTiles;
        load_tile<kWeights>(w + kPanel * (kColumn / kPanelTiles * row_bytes + k) +
                                kColumn % kPanelTiles * kTileBytes,
                            kPanelStride);
        unroll<RowTiles>([&](auto r) CONVSEQ_LAMBDA {
          Type::template multiply<r.kValue * kColumnTiles + kColumn, kFirstRowTile + r.kValue,
                                  kWeights>();
        });
      });
    }
    write<Type, kColumnTiles>(task);
    unroll<RowTiles * kColumnTiles>([&](auto i) CONVSEQ_LAMBDA {
      constexpr int kRow = i.kValue / kColumnTiles, kColumn = i.kValue % kColumnTiles;
      store_tile<i.kValue>(sums + (kRow * kTile * kColumnTiles + kColumn) * kTile,
                           kColumnTiles * kTileBytes);
    });
    row = next_row;
    rows = next_rows;
    column = next_column;
  }

  // V vectors of sums per row, in parts that fit the registers.
  template <class Type, int V>
  [[gnu::noinline]] void write(const MatmulTask& task) const {
    constexpr int kPart = 16 / V;
    for (int64_t r = 0; r < rows; r += kPart) {
      with_count<kPart>(smaller<int64_t>(kPart, rows - r), [&](auto count) CONVSEQ_LAMBDA {
        Type::template write<count.kValue, V>(task, row + r, column, sums + r * V * 16);
      });
    }
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

// Rows are cut into blocks that stay in the L2 cache; over each of them pass the panels. Up to 16
// rows take two panels at once, so that there are enough independent sums.
template <class Type>
void multiply(const MatmulTask& task) {
  constexpr int64_t kBlockBytes = 256 * 1024;
  constexpr int64_t kRows = 2 * kTile;
  const int64_t row_bytes = task.inputs * Type::kBytes;
  const int64_t block = larger<int64_t>(1, kBlockBytes / (row_bytes * kRows)) * kRows;
  const int64_t end = task.columns.end;
  int64_t begin = task.columns.begin;
  Block sums;
  configure_tiles();
  if (task.row_count <= kTile) {
    for (; begin + kPanel < end; begin += 2 * kPanel) {
      sums.multiply<Type, 1, 2>(task, 0, task.row_count, begin);
    }
    sums.write<Type, 2 * kPanelTiles>(task);
    sums.rows = 0;
  }
  for (int64_t first = 0; first < task.row_count; first += block) {
    const int64_t last = smaller(first + block, task.row_count);
    for (int64_t column = begin; column < end; column += kPanel) {
      for (int64_t row = first; row < last; row += kRows) {
        const int64_t rows = smaller(kRows, last - row);
        if (rows > kTile) {
          sums.multiply<Type, 2, 1>(task, row, rows, column);
        } else {
          sums.multiply<Type, 1, 1>(task, row, rows, column);
        }
      }
    }
  }
  sums.write<Type, kPanelTiles>(task);
  asm volatile("tilerelease");
}

}  // namespace

const MatmulKernel kInt8Matmul = {{.weight_bytes = 1,
                                   .panel = kPanel,
                                   .group = 4,
                                   .input_multiple = 64,
                                   .element = RowElement::Uint8,
                                   .row_tile = kTile,
                                   .row_group = 64},
                                  multiply<Int8Tiles>};
const MatmulKernel kBf16Matmul = {{.weight_bytes = 2,
                                   .panel = kPanel,
                                   .group = 2,
                                   .input_multiple = 32,
                                   .element = RowElement::Bf16,
                                   .row_tile = kTile,
                                   .row_group = 32},
                                  multiply<Bf16Tiles>};

}  // namespace convseq::kernels::CONVSEQ_LEVEL
