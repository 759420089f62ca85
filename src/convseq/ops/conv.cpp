#include "convseq/ops/conv.h"

#include <torch/types.h>

#include "convseq/base/error.h"
#include "convseq/ops/kernel/conv.h"
#include "convseq/ops/reference/conv.h"

namespace convseq::ops {
namespace {

void check_input(const char* op, const torch::Tensor& x, const Lengths& lengths) {
  require(x.dim() == 3, "{}: input has {} dimensions; must be [batch, time, channels]", op,
          x.dim());
  require(lengths.all_full() || (lengths.values.dim() == 1 && lengths.values.size(0) == x.size(0)),
          "{}: {} lengths for {} rows", op, lengths.all_full() ? 0 : lengths.values.numel(),
          x.size(0));
  require(lengths.all_full() || lengths.values.scalar_type() == torch::kInt64,
          "{}: lengths are {}; must be int64", op,
          lengths.all_full() ? "" : c10::toString(lengths.values.scalar_type()));
}

void check_halves(const char* op, const torch::Tensor& projected) {
  require(projected.dim() == 3 && projected.size(2) % 2 == 0,
          "{}: input has {} channels; must be [batch, time, 2 * channels]", op, projected.size(-1));
}

struct TapSizes {
  int64_t heads, kernel;
};

void check_taps(const char* op, int64_t channels, const TapSizes& taps,
                const ConvGeometry& geometry) {
  require(geometry.kernel >= 1 && geometry.dilation >= 1,
          "{}: kernel {} and dilation {}; both must be ≥ 1", op, geometry.kernel,
          geometry.dilation);
  require(taps.kernel == geometry.kernel, "{}: {} taps for kernel {}", op, taps.kernel,
          geometry.kernel);
  require(taps.heads >= 1 && channels % taps.heads == 0,
          "{}: {} channels are not divisible by {} heads", op, channels, taps.heads);
}

TapSizes static_sizes(const char* op, const torch::Tensor& taps) {
  require(taps.dim() == 2, "{}: taps have {} dimensions; must be [heads, kernel]", op, taps.dim());
  return {taps.size(0), taps.size(1)};
}

void check_dynamic(const char* op, const torch::Tensor& x, const torch::Tensor& taps,
                   const ConvGeometry& geometry) {
  check_input(op, x, {});
  check_taps(op, x.size(2), {taps.size(2), taps.size(3)}, geometry);
  require(taps.size(0) == x.size(0) && taps.size(1) == x.size(1),
          "{}: taps for [{}, {}] positions, input has [{}, {}]", op, taps.size(0), taps.size(1),
          x.size(0), x.size(1));
}

void check_step(const char* op, const torch::Tensor& x, const ConvGeometry& geometry,
                const ConvRing& ring) {
  require(geometry.alignment == Alignment::Causal, "{}: only a causal convolution can be stepped",
          op);
  require(!ring.positions.defined() || (x.size(1) == 1 && ring.positions.numel() == x.size(0)),
          "{}: {} positions for an input of [{}, {}]; must be one for each of [batch, 1]", op,
          ring.positions.defined() ? ring.positions.numel() : 0, x.size(0), x.size(1));
}

// [B,T,H*k] -> [B,T,H,k]
torch::Tensor by_head(const torch::Tensor& logits, int64_t kernel) {
  require(logits.dim() == 3 && logits.size(2) % kernel == 0,
          "dynamic_conv: {} tap logits per position are not divisible by kernel {}",
          logits.size(-1), kernel);
  return logits.unflatten(-1, {logits.size(2) / kernel, kernel});
}

}  // namespace

torch::Tensor mask_padding(const torch::Tensor& x, const Lengths& lengths) {
  return reference::mask_padding(x, lengths);
}

torch::Tensor tap_softmax(const torch::Tensor& logits) {
  if (has_tap_softmax_kernel(logits)) return kernel::tap_softmax(logits);
  return reference::tap_softmax(logits);
}

torch::Tensor glu(const torch::Tensor& projected, const Lengths& lengths) {
  check_halves("glu", projected);
  check_input("glu", projected, lengths);
  if (has_conv_kernel(projected)) return kernel::glu(projected, lengths);
  return reference::glu(projected, lengths);
}

torch::Tensor conv(const torch::Tensor& x, const torch::Tensor& taps, const Lengths& lengths,
                   const ConvGeometry& geometry) {
  check_input("conv", x, lengths);
  check_taps("conv", x.size(2), static_sizes("conv", taps), geometry);
  if (has_conv_kernel(x)) return kernel::conv(x, taps, lengths, geometry);
  return reference::conv(x, taps, lengths, geometry);
}

torch::Tensor glu_conv(const torch::Tensor& projected, const torch::Tensor& taps,
                       const Lengths& lengths, const ConvGeometry& geometry) {
  check_halves("glu_conv", projected);
  check_input("glu_conv", projected, lengths);
  check_taps("glu_conv", projected.size(2) / 2, static_sizes("glu_conv", taps), geometry);
  if (has_conv_kernel(projected)) return kernel::glu_conv(projected, taps, lengths, geometry);
  return reference::glu_conv(projected, taps, lengths, geometry);
}

torch::Tensor dynamic_conv(const torch::Tensor& x, const torch::Tensor& tap_logits,
                           const DynamicTapOptions& options, const ConvGeometry& geometry) {
  const auto logits = by_head(tap_logits, geometry.kernel);
  check_dynamic("dynamic_conv", x, logits, geometry);
  if (has_conv_kernel(x)) return kernel::dynamic_conv(x, logits, options, geometry);
  return reference::dynamic_conv(x, logits, options, geometry);
}

torch::Tensor conv_step(const torch::Tensor& x, const torch::Tensor& taps,
                        const ConvGeometry& geometry, ConvRing& ring) {
  check_input("conv_step", x, {});
  check_step("conv_step", x, geometry, ring);
  check_taps("conv_step", x.size(2), static_sizes("conv_step", taps), geometry);
  if (has_conv_step_kernel(x, taps, ring)) return kernel::conv_step(x, taps, geometry, ring);
  return reference::conv_step(x, taps, geometry, ring);
}

torch::Tensor glu_conv_step(const torch::Tensor& projected, const torch::Tensor& taps,
                            const Lengths& lengths, const ConvGeometry& geometry, ConvRing& ring) {
  check_halves("glu_conv_step", projected);
  check_input("glu_conv_step", projected, lengths);
  check_step("glu_conv_step", projected, geometry, ring);
  check_taps("glu_conv_step", projected.size(2) / 2, static_sizes("glu_conv_step", taps), geometry);
  if (lengths.all_full() && has_glu_conv_step_kernel(projected, taps, ring)) {
    return kernel::glu_conv_step(projected, taps, geometry, ring);
  }
  return conv_step(glu(projected, lengths), taps, geometry, ring);
}

torch::Tensor dynamic_conv_step(const torch::Tensor& x, const torch::Tensor& tap_logits,
                                const DynamicTapOptions& options, const ConvGeometry& geometry,
                                ConvRing& ring) {
  const auto logits = by_head(tap_logits, geometry.kernel);
  check_dynamic("dynamic_conv_step", x, logits, geometry);
  check_step("dynamic_conv_step", x, geometry, ring);
  if (has_conv_step_kernel(x, logits, ring)) {
    return kernel::dynamic_conv_step(x, logits, options, geometry, ring);
  }
  return reference::dynamic_conv_step(x, logits, options, geometry, ring);
}

}  // namespace convseq::ops
