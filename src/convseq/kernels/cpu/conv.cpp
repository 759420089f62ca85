#include "convseq/kernels/conv.h"

#include <algorithm>
#include <memory>

#include "convseq/kernels/checks.h"
#include "convseq/kernels/cpu/conv_loops.h"

namespace convseq::kernels {

Loops loops_of(CpuLevel level) {
  switch (level) {
#ifdef __x86_64__
    case CpuLevel::Avx512:
    case CpuLevel::Avx512Vnni:
    case CpuLevel::Avx512Bf16:
    case CpuLevel::Amx:
      return {avx512::kConvLoops, avx512::kDynamicLoops};
    case CpuLevel::AvxVnni:
    case CpuLevel::Avx2:
      return {avx2::kConvLoops, avx2::kDynamicLoops};
#endif
    default:
      return {baseline::kConvLoops, baseline::kDynamicLoops};
  }
}

namespace {

constexpr int64_t kPieceRows = 64;
constexpr int64_t kMinPartValues = 32768;  // the smallest work for a thread

// Long enough that the rows that two neighbouring pieces both read cost little.
Pieces conv_pieces(const ConvShape& shape) {
  const int64_t tiles = kTile * shape.dilation;  // pieces are whole tiles
  const int64_t wanted = std::max(kPieceRows, 4 * (shape.kernel - 1) * shape.dilation);
  const int64_t rows =
      std::min((wanted + tiles - 1) / tiles * tiles, std::max<int64_t>(1, shape.time));
  return {.rows = rows, .per_sequence = (shape.time + rows - 1) / rows};
}

Pieces pointwise_pieces(const ConvShape& shape) {  // for loops whose positions are independent
  const int64_t rows = std::min(kPieceRows, std::max<int64_t>(1, shape.time));
  return {.rows = rows, .per_sequence = (shape.time + rows - 1) / rows};
}

int64_t piece_count(const ConvShape& shape, const Pieces& pieces) {
  return shape.batch * pieces.per_sequence;
}

void run_parallel(const CpuRun& run, const ConvShape& shape, int64_t count, int64_t rows_per_piece,
                  const std::function<void(Part)>& work) {
  if (count == 0 || shape.channels == 0) return;
  const int64_t grain = std::max<int64_t>(1, kMinPartValues / (rows_per_piece * shape.channels));
  run.parallel(count, grain, [&](int64_t begin, int64_t end) { work({begin, end}); });
}

std::unique_ptr<float[]> packed_taps(const ConvLoops& loops, const ConvShape& shape,
                                     const float* taps, bool reversed) {
  auto out =
      std::make_unique_for_overwrite<float[]>(static_cast<size_t>(shape.channels * shape.kernel));
  loops.pack_taps(shape, taps, reversed, out.get());
  return out;
}

}  // namespace

void conv_forward_cpu(const ConvShape& shape, const ConvForward& arrays, const CpuRun& run) {
  check_conv(shape, "conv_forward");
  const ConvLoops& loops = loops_of(run.level).conv;
  const Pieces pieces = conv_pieces(shape);
  const auto taps = packed_taps(loops, shape, arrays.taps, /*reversed=*/false);
  run_parallel(run, shape, piece_count(shape, pieces), pieces.rows,
               [&](Part part) { loops.forward(shape, arrays, taps.get(), pieces, part); });
}

void conv_backward_cpu(const ConvShape& shape, const ConvBackward& arrays, const CpuRun& run) {
  check_conv(shape, "conv_backward");
  const ConvLoops& loops = loops_of(run.level).conv;
  const Pieces pieces = conv_pieces(shape);
  const int64_t count = piece_count(shape, pieces), tap_count = shape.heads * shape.kernel;
  const auto taps = packed_taps(loops, shape, arrays.taps, /*reversed=*/true);
  const auto sums = std::make_unique_for_overwrite<float[]>(static_cast<size_t>(count * tap_count));
  run_parallel(run, shape, count, pieces.rows, [&](Part part) {
    loops.backward(shape, arrays, taps.get(), sums.get(), pieces, part);
  });
  if (arrays.dtaps == nullptr) return;
  std::fill_n(arrays.dtaps, tap_count, 0.0F);
  if (shape.channels == 0) return;
  // In the order of the pieces, whichever thread computed them.
  for (int64_t n = 0; n < count; ++n) {
    for (int64_t i = 0; i < tap_count; ++i) arrays.dtaps[i] += sums[n * tap_count + i];
  }
}

void glu_forward_cpu(const ConvShape& shape, const ConvForward& arrays, const CpuRun& run) {
  const Pieces pieces = pointwise_pieces(shape);
  run_parallel(run, shape, piece_count(shape, pieces), pieces.rows, [&](Part part) {
    loops_of(run.level).conv.glu_forward(shape, arrays, pieces, part);
  });
}

void glu_backward_cpu(const ConvShape& shape, const ConvBackward& arrays, const CpuRun& run) {
  const Pieces pieces = pointwise_pieces(shape);
  run_parallel(run, shape, piece_count(shape, pieces), pieces.rows, [&](Part part) {
    loops_of(run.level).conv.glu_backward(shape, arrays, pieces, part);
  });
}

void dynamic_conv_forward_cpu(const ConvShape& shape, const DynamicConvForward& arrays,
                              const CpuRun& run) {
  check_conv(shape, "dynamic_conv_forward");
  check_dynamic_taps(shape, arrays.taps, "dynamic_conv_forward");
  const Pieces pieces = pointwise_pieces(shape);
  run_parallel(run, shape, piece_count(shape, pieces), pieces.rows, [&](Part part) {
    loops_of(run.level).dynamic.forward(shape, arrays, pieces, part);
  });
}

void dynamic_conv_backward_cpu(const ConvShape& shape, const DynamicConvBackward& arrays,
                               const CpuRun& run) {
  check_conv(shape, "dynamic_conv_backward");
  check_dynamic_taps(shape, arrays.taps, "dynamic_conv_backward");
  const Pieces pieces = conv_pieces(shape);
  run_parallel(run, shape, piece_count(shape, pieces), pieces.rows, [&](Part part) {
    loops_of(run.level).dynamic.backward(shape, arrays, pieces, part);
  });
}

void conv_step_cpu(const ConvShape& shape, const ConvStep& arrays, const CpuRun& run) {
  run_parallel(run, shape, shape.batch, shape.kernel,
               [&](Part part) { loops_of(run.level).dynamic.step(shape, arrays, part); });
}

}  // namespace convseq::kernels
