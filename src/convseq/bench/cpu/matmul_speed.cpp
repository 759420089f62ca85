#include "convseq/bench/cpu/matmul_speed.h"

#include <algorithm>

#include "convseq/base/random.h"
#include "convseq/kernels/row_ops.h"
#include "convseq/runtime/row_work.h"

namespace convseq::bench {
namespace {

constexpr int64_t kRows = 512, kWidth = 512, kHidden = 2048;

std::vector<float> random_values(int64_t count) {
  Random random(/*seed=*/1);
  std::vector<float> values(static_cast<size_t>(count));
  for (float& value : values) value = static_cast<float>(random.normal());
  return values;
}

// Rows, weights and outputs of one matmul, packed.
class PackedMatmul {
 public:
  explicit PackedMatmul(const MatmulSpeed& speed)
      : matrix_{{.outputs = speed.outputs,
                 .inputs = speed.inputs,
                 .type = weight_type(speed.precision, kernels::WeightType::Fp32)},
                nullptr},
        rows_{{.rows = speed.rows, .inputs = speed.inputs, .type = matrix_.shape.type}, nullptr} {
    weights_.reserve(kernels::packed_bytes(matrix_.shape));
    kernels::pack_matrix(matrix_.shape, random_values(speed.outputs * speed.inputs).data(),
                         weights_.data());
    matrix_.data = weights_.data();
    inputs_.reserve(kernels::packed_bytes(rows_.shape));
    rows_.data = inputs_.data();
    kernels::pack_rows({random_values(speed.rows * speed.inputs).data(), speed.inputs}, rows_,
                       kernels::all_rows(rows_));
    outputs_.reserve_floats(speed.rows * speed.outputs);
  }

  void run() const {
    kernels::packed_matmul(rows_, matrix_,
                           {.data = outputs_.floats(), .stride = matrix_.shape.outputs});
  }

 private:
  kernels::PackedMatrix matrix_;
  kernels::PackedRows rows_;
  Buffer weights_, inputs_, outputs_;
};

}  // namespace

std::vector<MatmulSpeed> measure_matmuls(const std::vector<CpuPrecision>& precisions,
                                         double seconds) {
  std::vector<MatmulSpeed> speeds;
  InstructionPeaks peaks(/*threads=*/1);
  for (const CpuPrecision precision : precisions) {
    for (const bool down : {false, true}) {
      MatmulSpeed& speed = speeds.emplace_back(MatmulSpeed{.precision = precision,
                                                           .rows = kRows,
                                                           .inputs = down ? kHidden : kWidth,
                                                           .outputs = down ? kWidth : kHidden});
      peaks.measure(precision);
      const PackedMatmul matmul(speed);
      const double ms = median_ms([&] { matmul.run(); }, seconds);
      peaks.measure(precision);
      speed.gigaops = 2e-6 * static_cast<double>(speed.rows * speed.inputs * speed.outputs) / ms;
    }
  }
  for (MatmulSpeed& speed : speeds) {
    const auto is_its = [&](const InstructionPeak& peak) {
      return peak.precision == speed.precision;
    };
    speed.peak = *std::find_if(peaks.peaks().begin(), peaks.peaks().end(), is_its);
  }
  return speeds;
}

Row row_of(const MatmulSpeed& speed) {
  Row row{.name = fmt::format("matmul_{}_{}x{}x{}", name_of(speed.precision), speed.rows,
                              speed.inputs, speed.outputs),
          .value = speed.gigaops,
          .unit = "GOP/s",
          .floor = speed.peak.gigaops};
  row.ratio = row.value / speed.peak.gigaops;
  return row;
}

}  // namespace convseq::bench
