#include "convseq/spec/mixer/conv.h"

namespace convseq::mixers {

void check_kernels(const ConfigCheck& check) {
  const ModelConfig& config = check.config();
  check.per_layer("kernel_sizes", config.kernel_sizes, Side::Encoder);
  check.per_layer("dilations", config.dilations, Side::Encoder);
  const bool own_kernels = !config.decoder_kernel_sizes.values.empty();
  const bool own_dilations = !config.decoder_dilations.values.empty();
  check.per_layer(own_kernels ? "decoder_kernel_sizes" : "kernel_sizes",
                  config.kernels(Side::Decoder), Side::Decoder);
  check.per_layer(own_dilations ? "decoder_dilations" : "dilations",
                  config.dilations_of(Side::Decoder), Side::Decoder);
}

void check_shared_kernels(const ConfigCheck& check) {
  const ModelConfig& config = check.config();
  check.within("conv_heads", config.conv_heads, {1, kLargestSize});
  if (config.d_model % config.conv_heads != 0) {
    check.refuse("d_model", "{} does not divide into conv_heads {}", config.d_model,
                 config.conv_heads);
  }
}

MixerLayer conv_layer(const ModelConfig& config, Side side, int64_t layer, const ConvShape& shape) {
  const int64_t d = config.d_model, kernel = config.kernels(side)[layer];
  const int64_t reach = (kernel - 1) * config.dilations_of(side)[layer];
  MixerLayer mixer{
      .matmuls = {{.name = "input", .in = d, .out = shape.projected},
                  {.name = "output", .in = d, .out = d}},
      .multiply_adds = kernel * d,
      .reach = reach,
      // Forward reads x and writes y; backward reads x and dy and writes dx.
      .moved_values = (shape.projected + d) + (2 * shape.projected + d),
      .kept_values = shape.projected + d,  // the projected input and the convolution's output
      .temporary_values = shape.projected + d,
      .state_values = reach * d};
  if (shape.tap_rows > 0) mixer.other_parameters = {{"taps", {shape.tap_rows, kernel}}};
  return mixer;
}

int64_t glu_channels(const ModelConfig& config) {
  return config.glu ? 2 * config.d_model : config.d_model;
}

}  // namespace convseq::mixers
