#pragma once

#include "convseq/kernels/conv_rows.h"

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

// The rows [begin, end) of a sequence in fp32, `stride` floats apart; rows outside read as `zeros`.
struct InputRows {
  const float* first = nullptr;  // row `begin`
  int64_t begin = 0, end = 0, stride = 0;
  const float* zeros = nullptr;
};

// The output rows [begin, end) of a sequence; `first` is row 0.
struct OutputSpan {
  float* first = nullptr;
  int64_t stride = 0;
  int64_t begin = 0, end = 0;
};

// These loops read packed taps: at most C · k floats, in the order that suits the level.
struct ConvLoops {
  void (*pack_taps)(const ConvShape&, const float* taps, bool reversed, float* packed);
  void (*forward)(const ConvShape&, const ConvForward&, const float* packed_taps, Pieces, Part);
  // The taps are reversed; each piece's part of dtaps is written to `sums` [pieces, H, k].
  void (*backward)(const ConvShape&, const ConvBackward&, const float* packed_taps, float* sums,
                   Pieces, Part);
  // `pointers`: k + kTile of them, for the loop's own use.
  void (*rows)(const ConvShape&, const InputRows&, const float* packed_taps, const float** pointers,
               const OutputSpan&);
  // `to` [rows,C]: what the convolution reads of rows of C, 2C or 3C values.
  void (*gate_rows)(ConvGate, const float* x, int64_t x_stride, int64_t rows, int64_t channels,
                    float* to);
  void (*multiply_row)(const float* factor, int64_t channels, float* y);
  void (*glu_forward)(const ConvShape&, const ConvForward&, Pieces, Part);
  void (*glu_backward)(const ConvShape&, const ConvBackward&, Pieces, Part);
};

// Memory for the sums of a few positions: their taps, and a row and a tap per term.
struct TermScratch {
  float* taps = nullptr;           // kTile · [H,k]
  const float** rows = nullptr;    // k + kTile
  const float** tap_of = nullptr;  // k
};

struct DynamicLoops {
  void (*forward)(const ConvShape&, const DynamicConvForward&, Pieces, Part);
  void (*backward)(const ConvShape&, const DynamicConvBackward&, Pieces, Part);
  void (*step)(const ConvShape&, const ConvStep&, Part);  // a piece is a sequence
  // `scratch`: for the loops' own use.
  void (*rows)(const ConvShape&, const InputRows&, const DynamicTaps&, const TermScratch& scratch,
               const OutputSpan&);
  void (*step_row)(const ConvShape&, const ConvStepRow&, const TermScratch& scratch);
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

struct Loops {
  const ConvLoops& conv;
  const DynamicLoops& dynamic;
};

Loops loops_of(CpuLevel level);

}  // namespace convseq::kernels
