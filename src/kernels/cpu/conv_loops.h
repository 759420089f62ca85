#pragma once

#include "convseq/kernels/conv.h"

// The loops behind the CPU kernels, one set a CpuLevel. A call is cut into pieces by its shape
// alone, never by the number of threads, so that every sum is made in one order.
namespace convseq::kernels {

inline constexpr int kTile = 8;  // outputs that a loop makes together

// Results of this size are streamed, past the caches: a core's own (2 MiB today) would lose them
// before anyone reads them, and from here on that gains more where memory is cold than it costs
// where a shared cache holds everything.
inline constexpr int64_t kStreamedBytes = 8 << 20;

// Piece n holds the time steps [first, first + rows) of one sequence of the batch.
struct Pieces {
  int64_t rows = 0;
  int64_t a_sequence = 0;  // pieces a sequence

  struct Piece {
    int64_t sequence, begin, end;
  };
};

struct Part {  // pieces [begin, end)
  int64_t begin, end;
};

// Taps are spread over the channels for these loops: the block of W channels that begins at channel
// c has its [k,W] floats at c · k.
struct ConvLoops {
  void (*spread)(const ConvShape&, const float* taps, bool reversed, float* spread);
  void (*forward)(const ConvShape&, const ConvForward&, const float* spread, Pieces, Part);
  // `spread` is reversed; `sums` [pieces, H, k] takes each piece's share of dtaps.
  void (*backward)(const ConvShape&, const ConvBackward&, const float* spread, float* sums, Pieces,
                   Part);
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
