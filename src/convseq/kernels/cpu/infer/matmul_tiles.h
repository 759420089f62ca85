#pragma once

#include "convseq/kernels/cpu/infer/matmul_kernel.h"
#include "convseq/kernels/cpu/vector.h"

// The loops around the register tile of a matmul, and its epilogue.
namespace convseq::kernels::CONVSEQ_LEVEL {

// W int32 sums, of the type of the instruction that made them.
template <int W, class Sums>
CONVSEQ_INLINE Floats<W> floats_of(Sums sums) {
  typedef int32_t Ints __attribute__((vector_size(4 * W)));
  return __builtin_convertvector(bits_as<Ints>(sums), Floats<W>);
}

// Keeps a product from being fused with a later sum in some tiles and not in others.
template <int W>
CONVSEQ_INLINE Floats<W> rounded(Floats<W> product) {
  return opaque<W>(product);
}

// The epilogue of a tile of which some columns do not exist; its rows are `width` values apart.
[[gnu::noinline]] inline void write_some_columns(const MatmulTask& task, int64_t row, int64_t rows,
                                                 int64_t column, const float* sums, int64_t width) {
  const MatmulOutput& output = task.output;
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t i = 0; i < width && column + i < task.columns.end; ++i) {
      float y = sums[r * width + i];
      if (output.bias != nullptr) y += output.bias[column + i];
      if (output.relu) y = y < 0 ? 0 : y;
      if (output.residual != nullptr) {
        y += output.residual[(row + r) * output.residual_stride + column + i];
      }
      output.data[(row + r) * output.stride + column + i] = y;
    }
  }
}

// The epilogue of a tile at [row, column]. Where `rows` is R − 1, the last row is not written.
template <int R, int V, int W>
CONVSEQ_INLINE void write_tile(const MatmulTask& task, int64_t row, int64_t rows, int64_t column,
                               Floats<W> (&sums)[R][V]) {
  if (column + V * W > task.columns.end) {
    float values[R * V * W];  // a copy: the sums stay in registers
    unroll<R * V>([&](auto i) CONVSEQ_LAMBDA {
      store<W>(values + i.kValue * W, sums[i.kValue / V][i.kValue % V]);
    });
    return write_some_columns(task, row, rows, column, values, V * W);
  }
  const MatmulOutput output = task.output;  // a copy: stores might change the task
  const auto for_vectors = [&](const auto& f) CONVSEQ_LAMBDA {
    unroll<R>([&](auto r) CONVSEQ_LAMBDA {
      if (r.kValue == R - 1 && rows < R) return;
      unroll<V>([&](auto v) CONVSEQ_LAMBDA { f(r, v, sums[r.kValue][v.kValue]); });
    });
  };
  if (output.bias != nullptr) {
    for_vectors([&](auto, auto v, Floats<W>& y)
                    CONVSEQ_LAMBDA { y += load<W>(output.bias + column + v.kValue * W); });
  }
  if (output.relu) {
    for_vectors([&](auto, auto, Floats<W>& y) CONVSEQ_LAMBDA { y = y < 0.0F ? Floats<W>{} : y; });
  }
  if (output.residual != nullptr) {
    const float* residual = output.residual + row * output.residual_stride + column;
    for_vectors([&](auto r, auto v, Floats<W>& y) CONVSEQ_LAMBDA {
      if (r.kValue < rows)
        y += load<W>(residual + r.kValue * output.residual_stride + v.kValue * W);
    });
  }
  float* to = output.data + row * output.stride + column;
  for_vectors([&](auto r, auto v, Floats<W>& y)
                  CONVSEQ_LAMBDA { store<W>(to + r.kValue * output.stride + v.kValue * W, y); });
}

// The same for int8: the int32 sums, as fp32, times the scales of rows and columns. The scales of
// a matrix are padded to whole panels.
template <int R, int V, int W>
CONVSEQ_INLINE void write_scaled_tile(const MatmulTask& task, int64_t row, int64_t rows,
                                      int64_t column, Floats<W> (&sums)[R][V]) {
  unroll<R>([&](auto r) CONVSEQ_LAMBDA {
    if (r.kValue == R - 1 && rows < R) return;
    const float scale = task.row_scales[row + r.kValue];
    unroll<V>([&](auto v) CONVSEQ_LAMBDA {
      auto& sum = sums[r.kValue][v.kValue];
      sum = rounded<W>(sum * (scale * load<W>(task.column_scales + column + v.kValue * W)));
    });
  });
  write_tile<R, V, W>(task, row, rows, column, sums);
}

// What the vectors of sums are.
template <int W>
struct FloatSums {
  static constexpr bool kScaled = false;
  CONVSEQ_INLINE static Floats<W> to_floats(Floats<W> sums) { return sums; }
};
template <int W>
struct IntSums {
  static constexpr bool kScaled = true;
  template <class Sums>
  CONVSEQ_INLINE static Floats<W> to_floats(Sums sums) {
    return floats_of<W>(sums);
  }
};

// The epilogue of a tile of FloatSums or IntSums.
template <class Type, int R, int V, int W, class Sums>
CONVSEQ_INLINE void write_sums(const MatmulTask& task, int64_t row, int64_t rows, int64_t column,
                               const Sums (&sums)[R][V]) {
  Floats<W> floats[R][V];
  unroll<R * V>([&](auto i) CONVSEQ_LAMBDA {
    floats[i.kValue / V][i.kValue % V] = Type::to_floats(sums[i.kValue / V][i.kValue % V]);
  });
  if constexpr (Type::kScaled) {
    write_scaled_tile<R, V, W>(task, row, rows, column, floats);
  } else {
    write_tile<R, V, W>(task, row, rows, column, floats);
  }
}

// f(Number<n>) for the n of [1, N] that equals `count`.
template <int N, class F>
CONVSEQ_INLINE void with_count(int64_t count, const F& f) {
  if constexpr (N > 0) {
    if (count == N) return f(Number<N>{});
    with_count<N - 1>(count, f);
  }
}

// f(row, rows) over [begin, end): tiles of at most Rows rows and of nearly the same size, a
// multiple of Multiple where there are several.
template <int Rows, int Multiple, class F>
CONVSEQ_INLINE void for_row_tiles(int64_t begin, int64_t end, const F& f) {
  for (int64_t row = begin; row < end;) {
    const int64_t left = end - row, tiles = (left + Rows - 1) / Rows;
    const int64_t even = (left + tiles - 1) / tiles;
    const int64_t rows =
        tiles == 1 ? left : smaller<int64_t>(Rows, (even + Multiple - 1) / Multiple * Multiple);
    f(row, rows);
    row += rows;
  }
}

// The weights that come next, fetched into the L2 cache in `parts` parts between the steps of the
// tiles: many at once would make the loads of a tile wait.
class WeightPrefetch {
 public:
  WeightPrefetch() = default;
  WeightPrefetch(const std::byte* from, int64_t bytes, int64_t parts)
      : at_(from), end_(from + bytes), lines_((bytes / kLine + parts - 1) / parts) {}
  CONVSEQ_INLINE void fetch_part() {
    for (int64_t i = 0; i < lines_ && at_ < end_; ++i, at_ += kLine) {
      __builtin_prefetch(at_, /*rw=*/0, /*locality=*/2);
    }
  }

 private:
  const std::byte* at_ = nullptr;
  const std::byte* end_ = nullptr;
  int64_t lines_ = 0;  // per part
};

// Parts of 16 lines or so: Neoverse V1 prefers larger ones.
#ifdef __aarch64__
constexpr int64_t kStepsPerPart = 64;
#else
constexpr int64_t kStepsPerPart = 16;
#endif

// Steps from the one that loads a weight into the first-level cache to the one that reads it.
constexpr int64_t kStepsAhead = 16;

// step(k) for k = 0, By, 2 By, … below `end`, and a part of the prefetch every few steps.
template <int64_t By, class Step>
CONVSEQ_INLINE void for_steps(int64_t end, WeightPrefetch& prefetch, const Step& step) {
  WeightPrefetch mine = prefetch;  // a copy: stores might change it
  for (int64_t part = 0; part < end; part += kStepsPerPart * By) {
    mine.fetch_part();
    const int64_t part_end = smaller(part + kStepsPerPart * By, end);
    for (int64_t k = part; k < part_end; k += By) step(k);
  }
  prefetch = mine;
}

// The rows of a tile by one pointer per two rows: one per row would be more than x86's registers
// hold, and computed addresses would take the place of multiplications.
template <int R>
class RowPairs {
 public:
  CONVSEQ_INLINE RowPairs(const void* first, int64_t row_bytes) : row_bytes_(row_bytes) {
    unroll<kPairs>([&](auto p) CONVSEQ_LAMBDA {
      pairs_[p.kValue] = static_cast<const std::byte*>(first) + p.kValue * 2 * row_bytes;
      asm("" : "+r"(pairs_[p.kValue]));
    });
  }

  // step(n, values) for `Steps` values of type T from byte `at` of the rows on; values(f) calls
  // f(row, value).
  template <class T, int Steps, class Step>
  CONVSEQ_INLINE void for_steps(int64_t at, const Step& step) const {
    int64_t below = at + row_bytes_;  // in the next row
    asm("" : "+r"(below));
    unroll<Steps>([&](auto n) CONVSEQ_LAMBDA {
      step(n, [&](const auto& f) CONVSEQ_LAMBDA {
        unroll<R>([&](auto r) CONVSEQ_LAMBDA {
          T value;
          const int64_t offset = (r.kValue % 2 == 0 ? at : below) + n.kValue * int64_t{sizeof(T)};
          __builtin_memcpy(&value, pairs_[r.kValue / 2] + offset, sizeof value);
          f(r, value);
        });
      });
    });
  }

 private:
  static constexpr int kPairs = (R + 1) / 2;
  const std::byte* pairs_[kPairs];
  int64_t row_bytes_;
};

// The rows of a block, a multiple of Rows.
template <int Rows>
CONVSEQ_INLINE int64_t rows_in_cache(int64_t cache_bytes, int64_t row_bytes) {
  return larger<int64_t>(1, cache_bytes * 3 / 8 / (row_bytes * Rows)) * Rows;
}

// How a matmul is cut: blocks of rows and groups of panels stay in the L2 cache together with the
// group that comes next. A panel that fits in the L1 cache is a group of its own, and stays there
// while the rows pass; otherwise the rows of a tile stay while the panels of the group pass.
struct Blocks {
  int64_t rows = 0;
  int64_t columns = 0;  // of a group
};

template <int Rows, int Panel>
CONVSEQ_INLINE Blocks blocks_of(int64_t cache_bytes, int64_t row_bytes, int64_t weight_bytes) {
#ifdef __aarch64__
  constexpr int64_t kPanelBytes = 32 * 1024;  // half of an L1 cache
#else
  constexpr int64_t kPanelBytes = 24 * 1024;
#endif
  const int64_t panel_bytes = weight_bytes * Panel;
  const int64_t panels = panel_bytes <= kPanelBytes ? 1 : cache_bytes / 8 / panel_bytes;
  return {.rows = rows_in_cache<Rows>(cache_bytes, row_bytes),
          .columns = larger<int64_t>(1, panels) * Panel};
}

// tile(Number<rows>, Number<panels>, row, column, prefetch) over all rows and columns of the task.
// One or two rows take Wide panels at once, so that there are enough independent sums. `By` is the
// number of inputs of a step of the tile.
template <int Rows, int Panel, int Wide, int By, int Multiple = 2, class Tile>
CONVSEQ_INLINE void for_tiles(const MatmulTask& task, int64_t row_bytes, int64_t weight_bytes,
                              const Tile& tile) {
  constexpr int kFew = 2;
  WeightPrefetch prefetch;
  int64_t column = task.columns.begin;
  if (task.row_count <= kFew) {
    for (; column + (Wide - 1) * Panel < task.columns.end; column += Wide * Panel) {
      with_count<kFew>(task.row_count, [&](auto rows) CONVSEQ_LAMBDA {
        tile(rows, Number<Wide>{}, 0, column, prefetch);
      });
    }
  }
  const Blocks blocks = blocks_of<Rows, Panel>(task.cache_bytes, row_bytes, weight_bytes);
  const int64_t parts = larger<int64_t>(1, task.inputs / (By * kStepsPerPart));  // of a tile
  const int64_t begin = column, end = task.columns.end;
  for (int64_t first = 0; first < task.row_count; first += blocks.rows) {
    const int64_t last = smaller(first + blocks.rows, task.row_count);
    const int64_t row_tiles = (last - first + Rows - 1) / Rows;
    for (int64_t left = begin; left < end; left += blocks.columns) {
      const int64_t right = smaller(left + blocks.columns, end);
      const int64_t tiles = row_tiles * ((right - left + Panel - 1) / Panel);
      prefetch = {task.panels + right * weight_bytes,
                  (smaller(right + blocks.columns, end) - right) * weight_bytes, tiles * parts};
      for_row_tiles<Rows, Multiple>(first, last, [&](int64_t row, int64_t rows) CONVSEQ_LAMBDA {
        with_count<Rows>(rows, [&](auto count) CONVSEQ_LAMBDA {
          for (column = left; column < right; column += Panel) {
            tile(count, Number<1>{}, row, column, prefetch);
          }
        });
      });
    }
  }
}

}  // namespace convseq::kernels::CONVSEQ_LEVEL
