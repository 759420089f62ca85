#include "convseq/kernels/row_ops.h"
#include "convseq/runtime/mixer/conv.h"

namespace convseq {
namespace {

// The taps of each position are a linear function of its gated input.
class CpuDynamicConv : public CpuConv {
 public:
  CpuDynamicConv(const CpuMixerOptions& options, WeightPacker& packer)
      : CpuConv(options, packer), softmax_(packer.config().tap_softmax) {
    shape_.heads = packer.config().conv_heads;
    packer.matrix({options.name + ".taps.weight"}, taps_);
  }

  void mix(const MixRows& rows, std::byte* workspace) const override {
    const int64_t count = rows.end - rows.begin, width = input.shape.outputs;
    const auto [taps, rest] = compute_taps(rows.projected + rows.begin * width, count, workspace);
    kernels::ConvShape shape = shape_;
    shape.time = rows.time;
    kernels::conv_rows(shape,
                       {.x = rows.projected,
                        .x_stride = width,
                        .gate = gate_,
                        .dynamic_taps = dynamic_taps(taps - rows.begin * taps_.shape.outputs),
                        .begin = rows.begin,
                        .end = rows.end,
                        .y = rows.mixed - rows.begin * shape.channels,
                        .y_stride = shape.channels,
                        .workspace = rest},
                       level_);
  }

  void step(const MixStep& step, std::byte* workspace) const override {
    const auto [taps, rest] = compute_taps(step.projected, 1, workspace);
    kernels::conv_step_row(shape_,
                           {.x = step.projected,
                            .gate = gate_,
                            .dynamic_taps = dynamic_taps(taps),
                            .position = step.position,
                            .ring = step.state,
                            .y = step.mixed,
                            .workspace = rest},
                           level_);
  }

  int64_t workspace_bytes(int64_t rows) const override {
    const int64_t floats = tap_values(rows) + kernels::conv_rows_workspace(shape_, gate_, rows);
    return kernels::packed_bytes(packed_shape(rows)) + floats * static_cast<int64_t>(sizeof(float));
  }

 private:
  struct Taps {
    float* taps;  // [rows, heads, kernel]
    float* rest;  // of the workspace
  };

  // The workspace holds the packed inputs, the taps, then that of the convolution.
  Taps compute_taps(const float* projected, int64_t rows, std::byte* workspace) const {
    const kernels::PackedRows packed{packed_shape(rows), workspace};
    const kernels::FloatRows x{projected, input.shape.outputs};
    if (gate_ == kernels::ConvGate::Glu) {
      kernels::glu_pack_rows(x, {projected + shape_.channels, x.stride}, packed, {0, rows});
    } else {
      kernels::pack_rows(x, packed, {0, rows});
    }
    auto* taps = reinterpret_cast<float*>(workspace + kernels::packed_bytes(packed.shape));
    kernels::packed_matmul(packed, taps_, {.data = taps, .stride = taps_.shape.outputs});
    return {.taps = taps, .rest = taps + tap_values(rows)};
  }

  kernels::PackedRowsShape packed_shape(int64_t rows) const {
    return {.rows = rows,
            .inputs = taps_.shape.inputs,
            .type = taps_.shape.type,
            .level = taps_.shape.level};
  }
  // Rounded up, so that the rest of the workspace is aligned.
  int64_t tap_values(int64_t rows) const {
    constexpr int64_t kFloats = kernels::kPackedAlignment / sizeof(float);
    return (rows * taps_.shape.outputs + kFloats - 1) / kFloats * kFloats;
  }
  kernels::DynamicTaps dynamic_taps(const float* taps) const {
    return {.values = taps, .softmax = softmax_};
  }

  bool softmax_;
  kernels::PackedMatrix taps_;  // W^Q: R^d -> R^{H×k}
};

}  // namespace

std::unique_ptr<CpuMixer> make_cpu_dynamic_conv(const CpuMixerOptions& options,
                                                WeightPacker& packer) {
  return std::make_unique<CpuDynamicConv>(options, packer);
}

}  // namespace convseq
