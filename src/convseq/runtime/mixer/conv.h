#pragma once

#include "convseq/kernels/conv_rows.h"
#include "convseq/runtime/mixer/cpu_mixer.h"

namespace convseq {

// Base class of the convolutions. A projected row holds the input of the convolution and its gates;
// the decode state is the ring buffer of the last gated inputs.
class CpuConv : public CpuMixer {
 public:
  int64_t state_values(int64_t /*tokens*/) const override {
    return (shape_.kernel - 1) * shape_.dilation * shape_.channels;
  }

 protected:
  CpuConv(const CpuMixerOptions& options, WeightPacker& packer);

  kernels::CpuLevel level_;
  kernels::ConvShape shape_;  // one kernel per channel, unless a derived class says otherwise
  kernels::ConvGate gate_;
};

std::unique_ptr<CpuMixer> make_cpu_static_conv(const CpuMixerOptions& options, int64_t tap_heads,
                                               WeightPacker& packer);
std::unique_ptr<CpuMixer> make_cpu_dynamic_conv(const CpuMixerOptions& options,
                                                WeightPacker& packer);

}  // namespace convseq
