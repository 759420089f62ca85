#pragma once

#include "convseq/spec/config_check.h"
#include "convseq/spec/mixer_description.h"

// What the descriptions of the convolutions share.
namespace convseq::mixers {

// Kernel sizes and dilations of both stacks.
void check_kernels(const ConfigCheck& check);
// Each kernel is shared by d_model / conv_heads channels.
void check_shared_kernels(const ConfigCheck& check);

struct ConvShape {
  int64_t projected = 0;  // channels of the input projection
  int64_t tap_rows = 0;   // of the parameter "taps"; 0: the taps are no parameter
};

// An input projection, gates and a convolution of d_model channels in one pass, and the output
// projection.
MixerLayer conv_layer(const ModelConfig& config, Side side, int64_t layer, const ConvShape& shape);

// X W_I, beside X W_S where the model has a GLU.
int64_t glu_channels(const ModelConfig& config);

}  // namespace convseq::mixers
