#include <algorithm>
#include <cmath>

#include "convseq/runtime/mixer/conv.h"

namespace convseq {
namespace {

// The softmax of each row [heads, kernel].
void tap_softmax(std::vector<float>& taps, int64_t kernel) {
  for (auto row = taps.begin(); row != taps.end(); row += kernel) {
    const float most = *std::max_element(row, row + kernel);
    float sum = 0;
    for (auto tap = row; tap != row + kernel; ++tap) sum += * tap = std::exp(*tap - most);
    for (auto tap = row; tap != row + kernel; ++tap) *tap /= sum;
  }
}

// Depthwise, light, dilated and gated convolutions: the same taps at every position.
class CpuStaticConv : public CpuConv {
 public:
  CpuStaticConv(const CpuMixerOptions& options, int64_t tap_heads, WeightPacker& packer)
      : CpuConv(options, packer) {
    shape_.heads = tap_heads;
    const auto taps = [name = options.name + ".taps", kernel = shape_.kernel, &packer] {
      auto values = packer.values(name);
      if (packer.config().tap_softmax) tap_softmax(values, kernel);
      return values;
    };
    packer.computed(tap_heads * shape_.kernel, taps, taps_);
    const auto pack = [taps, shape = shape_, level = level_] {
      std::vector<float> packed(static_cast<size_t>(shape.channels * shape.kernel));
      kernels::pack_conv_taps(shape, taps().data(), packed.data(), level);
      return packed;
    };
    packer.computed(shape_.channels * shape_.kernel, pack, packed_taps_);
  }

  void mix(const MixRows& rows, std::byte* workspace) const override {
    kernels::ConvShape shape = shape_;
    shape.time = rows.time;
    kernels::conv_rows(shape,
                       {.x = rows.projected,
                        .x_stride = input.shape.outputs,
                        .gate = gate_,
                        .packed_taps = packed_taps_,
                        .dynamic_taps = {},
                        .begin = rows.begin,
                        .end = rows.end,
                        .y = rows.mixed - rows.begin * shape.channels,
                        .y_stride = shape.channels,
                        .workspace = reinterpret_cast<float*>(workspace)},
                       level_);
  }

  void step(const MixStep& step, std::byte* workspace) const override {
    kernels::conv_step_row(shape_,
                           {.x = step.projected,
                            .gate = gate_,
                            .static_taps = taps_,
                            .dynamic_taps = {},
                            .position = step.position,
                            .ring = step.state,
                            .y = step.mixed,
                            .workspace = reinterpret_cast<float*>(workspace)},
                           level_);
  }

  int64_t workspace_bytes(int64_t rows) const override {
    return kernels::conv_rows_workspace(shape_, gate_, rows) * static_cast<int64_t>(sizeof(float));
  }

 private:
  const float* taps_ = nullptr;         // [heads, kernel], after the softmax
  const float* packed_taps_ = nullptr;  // the same for conv_rows()
};

}  // namespace

std::unique_ptr<CpuMixer> make_cpu_static_conv(const CpuMixerOptions& options, int64_t tap_heads,
                                               WeightPacker& packer) {
  return std::make_unique<CpuStaticConv>(options, tap_heads, packer);
}

}  // namespace convseq
