#include "convseq/kernels/conv_rows.h"

#include <algorithm>

#include "convseq/kernels/cpu/conv_loops.h"

namespace convseq::kernels {
namespace {

int64_t reach_of(const ConvShape& shape) { return (shape.kernel - 1) * shape.dilation; }

// The parts of a workspace, in this order. Pointers come first: they need the widest alignment.
struct Workspace {
  const float** rows;    // k + kTile
  const float** tap_of;  // k
  float* zeros;          // C
  float* taps;           // kTile · [H,k] of a few positions
  float* gated;          // [rows + reach, C], or nothing without a gate

  static constexpr int64_t kFloatsPerPointer = sizeof(void*) / sizeof(float);
  static int64_t pointers(const ConvShape& shape) { return 2 * shape.kernel + kTile; }
  static int64_t tap_floats(const ConvShape& shape) { return kTile * shape.heads * shape.kernel; }

  // Without the gated rows.
  static int64_t size(const ConvShape& shape) {
    return (pointers(shape) + 1) * kFloatsPerPointer + shape.channels + tap_floats(shape);
  }

  Workspace(const ConvShape& shape, float* floats) {
    // `floats` is aligned for floats, pointers may need one more.
    const bool aligned = reinterpret_cast<uintptr_t>(floats) % alignof(float*) == 0;
    rows = reinterpret_cast<const float**>(aligned ? floats : floats + 1);
    tap_of = rows + shape.kernel + kTile;
    zeros = const_cast<float*>(reinterpret_cast<const float*>(rows + pointers(shape)));
    taps = zeros + shape.channels;
    gated = taps + tap_floats(shape);
  }
  TermScratch scratch() const { return {.taps = taps, .rows = rows, .tap_of = tap_of}; }
};

// The rows that the outputs [begin, end) read, gated.
InputRows input_rows(const ConvLoops& loops, const ConvShape& shape, const ConvRows& arrays,
                     const Workspace& workspace) {
  if (arrays.gate == ConvGate::None) {
    return {.first = arrays.x,
            .begin = 0,
            .end = shape.time,
            .stride = arrays.x_stride,
            .zeros = workspace.zeros};
  }
  const int64_t from = std::max<int64_t>(0, arrays.begin - shape.left);
  const int64_t to =
      std::max(from, std::min(shape.time, arrays.end - shape.left + reach_of(shape)));
  loops.gate_rows(arrays.gate, arrays.x + from * arrays.x_stride, arrays.x_stride, to - from,
                  shape.channels, workspace.gated);
  return {.first = workspace.gated,
          .begin = from,
          .end = to,
          .stride = shape.channels,
          .zeros = workspace.zeros};
}

}  // namespace

int64_t conv_input_width(const ConvShape& shape, ConvGate gate) {
  switch (gate) {
    case ConvGate::Glu:
      return 2 * shape.channels;
    case ConvGate::Product:
      return 3 * shape.channels;
    default:
      return shape.channels;
  }
}

int64_t conv_rows_workspace(const ConvShape& shape, ConvGate gate, int64_t rows) {
  const int64_t gated = gate == ConvGate::None ? 0 : (rows + reach_of(shape)) * shape.channels;
  return Workspace::size(shape) + gated;
}

void pack_conv_taps(const ConvShape& shape, const float* taps, float* packed, CpuLevel level) {
  loops_of(level).conv.pack_taps(shape, taps, /*reversed=*/false, packed);
}

void conv_rows(const ConvShape& shape, const ConvRows& arrays, CpuLevel level) {
  if (arrays.begin >= arrays.end || shape.channels == 0) return;
  const Loops loops = loops_of(level);
  const Workspace workspace(shape, arrays.workspace);
  std::fill_n(workspace.zeros, shape.channels, 0.0F);
  const InputRows x = input_rows(loops.conv, shape, arrays, workspace);
  const OutputSpan y{arrays.y, arrays.y_stride, arrays.begin, arrays.end};
  if (arrays.packed_taps != nullptr) {
    loops.conv.rows(shape, x, arrays.packed_taps, workspace.rows, y);
  } else {
    loops.dynamic.rows(shape, x, arrays.dynamic_taps, workspace.scratch(), y);
  }
  if (arrays.gate != ConvGate::Product) return;
  for (int64_t t = arrays.begin; t < arrays.end; ++t) {
    loops.conv.multiply_row(arrays.x + t * arrays.x_stride + shape.channels, shape.channels,
                            arrays.y + t * arrays.y_stride);
  }
}

void conv_step_row(const ConvShape& shape, const ConvStepRow& arrays, CpuLevel level) {
  if (shape.channels == 0) return;
  const Loops loops = loops_of(level);
  const Workspace workspace(shape, arrays.workspace);
  ConvStepRow gated = arrays;
  if (arrays.gate != ConvGate::None) {
    loops.conv.gate_rows(arrays.gate, arrays.x, 0, 1, shape.channels, workspace.gated);
    gated.x = workspace.gated;
  }
  loops.dynamic.step_row(shape, gated, workspace.scratch());
  if (arrays.gate == ConvGate::Product) {
    loops.conv.multiply_row(arrays.x + shape.channels, shape.channels, arrays.y);
  }
}

}  // namespace convseq::kernels
