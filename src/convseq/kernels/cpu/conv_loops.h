#pragma once

#include "convseq/kernels/conv.h"

// The loops of the CPU kernels, one set per CpuLevel. A call is cut into pieces by its shape alone,
// never by the number of threads, so that every sum has one order.
namespace convseq::kernels {

inline constexpr int kTile = 8;  // outputs that a loop computes together

// Outputs of at least this size are written with non-temporal stores. A core's own cache (2 MiB
// today) would evict them before they are read; from this size on the gain with cold memory exceeds
// the loss where a shared cache holds everything.
inline constexpr int64_t kStreamedBytes = 8 << 20;

// Piece n holds the time steps [first, first + rows) of one sequence of the batch.
struct Pieces {
  int64_t rows = 0;
  int64_t per_sequence = 0;  // pieces per sequence

  struct Piece {
    int64_t sequence, begin, end;
  };
};

struct Part {  // pieces [begin, end)
  int64_t begin, end;
};

// These loops read taps that are expanded to the channels: the block of W channels that begins at
// channel c has its [k,W] floats at c · k.
struct ConvLoops {
  void (*expand)(const ConvShape&, const float* taps, bool reversed, float* expanded);
  void (*forward)(const ConvShape&, const ConvForward&, const float* expanded, Pieces, Part);
  // `expanded` is reversed; each piece's part of dtaps is written to `sums` [pieces, H, k].
  void (*backward)(const ConvShape&, const ConvBackward&, const float* expanded, float* sums,
                   Pieces, Part);
  void (*glu_forward)(const ConvShape&, const ConvForward&, Pieces, Part);
  void (*glu_backward)(const ConvShape&, const ConvBackward&, Pieces, Part);
};

struct DynamicLoops {
  void (*forward)(const ConvShape&, const DynamicConvForward&, Pieces, Part);
  void (*backward)(const ConvShape&, const DynamicConvBackward&, Pieces, Part);
  void (*step)(const ConvShape&, const ConvStep&, Part);  // a piece is a sequence
};

#define CONVSEQ_DECLARE_LOOPS(level)       \
  namespace level {                        \
  extern const ConvLoops kConvLoops;       \
  extern const DynamicLoops kDynamicLoops; \
  }
CONVSEQ_DECLARE_LOOPS(baseline)
CONVSEQ_DECLARE_LOOPS(avx2)
CONVSEQ_DECLARE_LOOPS(avx512)
#undef CONVSEQ_DECLARE_LOOPS

}  // namespace convseq::kernels
