#include "convseq/ops/conv.h"

#include <torch/types.h>

#include "convseq/base/error.h"
#include "convseq/ops/kernel/conv_kernels.h"
#include "convseq/ops/reference/reference.h"

// Each op: check → choose the kernel or the reference.

namespace convseq::ops {
namespace {

void check_input(const char* op, const torch::Tensor& x, const Lengths& lengths) {
  require(x.dim() == 3, "{}: input has {} dimensions; wants [batch, time, channels]", op, x.dim());
  require(lengths.all_full() || (lengths.values.dim() == 1 && lengths.values.size(0) == x.size(0)),
          "{}: lengths for {} rows, input has {}", op,
          lengths.all_full() ? 0 : lengths.values.numel(), x.size(0));
  require(lengths.all_full() || lengths.values.scalar_type() == torch::kInt64,
          "{}: lengths are {}; wants int64", op,
          lengths.all_full() ? "" : c10::toString(lengths.values.scalar_type()));
}

void check_halves(const char* op, const torch::Tensor& projected) {
  require(projected.dim() == 3 && projected.size(2) % 2 == 0,
          "{}: wants [batch, time, 2 * channels], got {} channels", op, projected.size(-1));
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
          "{}: {} channels do not divide into {} heads", op, channels, taps.heads);
}

TapSizes static_sizes(const char* op, const torch::Tensor& taps) {
  require(taps.dim() == 2, "{}: taps have {} dimensions; wants [heads, kernel]", op, taps.dim());
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

void check_causal(const char* op, const ConvGeometry& geometry) {
  require(geometry.alignment == Alignment::Causal, "{}: only a causal convolution can be stepped",
          op);
}

// [B,T,H*k] -> [B,T,H,k]
torch::Tensor by_head(const torch::Tensor& logits, int64_t kernel) {
  require(logits.dim() == 3 && logits.size(2) % kernel == 0,
          "dynamic_conv: {} tap logits a position do not divide by kernel {}", logits.size(-1),
          kernel);
  return logits.unflatten(-1, {logits.size(2) / kernel, kernel});
}

torch::Tensor dynamic_taps(const torch::Tensor& logits, const DynamicTapOptions& options) {
  const auto taps = options.softmax ? reference::tap_softmax(logits) : logits;
  return options.dropout > 0 ? torch::dropout(taps, options.dropout, true) : taps;
}

// What a kernel gets: logits, whose softmax it takes itself, unless taps must be dropped between.
struct KernelTaps {
  torch::Tensor values;
  bool softmax;
};

KernelTaps kernel_taps(const torch::Tensor& logits, const DynamicTapOptions& options) {
  if (options.dropout > 0) return {dynamic_taps(logits.to(torch::kFloat32), options), false};
  return {logits, options.softmax};
}

// The window that n new positions read: what the ring holds, then x. The ring moves on.
torch::Tensor window_of(const torch::Tensor& x, const ConvGeometry& geometry, ConvRing& ring) {
  if (geometry.reach() == 0) return x;
  const auto window = torch::cat({ring.history(), x}, 1);
  ring.append(x);
  return window;
}

}  // namespace

torch::Tensor mask_padding(const torch::Tensor& x, const Lengths& lengths) {
  return reference::mask_padding(x, lengths);
}

torch::Tensor glu(const torch::Tensor& projected, const Lengths& lengths) {
  check_halves("glu", projected);
  check_input("glu", projected, lengths);
  if (fast::has_kernel(projected)) return fast::glu(projected, lengths);
  return reference::glu(projected, lengths);
}

torch::Tensor conv(const torch::Tensor& x, const torch::Tensor& taps, const Lengths& lengths,
                   const ConvGeometry& geometry) {
  check_input("conv", x, lengths);
  check_taps("conv", x.size(2), static_sizes("conv", taps), geometry);
  if (fast::has_kernel(x)) return fast::conv(x, taps, lengths, geometry);
  return reference::conv(reference::mask_padding(x, lengths), taps, geometry);
}

torch::Tensor glu_conv(const torch::Tensor& projected, const torch::Tensor& taps,
                       const Lengths& lengths, const ConvGeometry& geometry) {
  check_halves("glu_conv", projected);
  check_input("glu_conv", projected, lengths);
  check_taps("glu_conv", projected.size(2) / 2, static_sizes("glu_conv", taps), geometry);
  if (fast::has_kernel(projected)) return fast::glu_conv(projected, taps, lengths, geometry);
  return reference::conv(reference::glu(projected, lengths), taps, geometry);
}

torch::Tensor dynamic_conv(const torch::Tensor& x, const torch::Tensor& tap_logits,
                           const DynamicTapOptions& options, const ConvGeometry& geometry) {
  const auto logits = by_head(tap_logits, geometry.kernel);
  check_dynamic("dynamic_conv", x, logits, geometry);
  if (fast::has_kernel(x)) {
    const auto taps = kernel_taps(logits, options);
    return fast::dynamic_conv(x, taps.values, taps.softmax, geometry);
  }
  return reference::dynamic_conv(x, dynamic_taps(logits, options), geometry);
}

torch::Tensor ConvRing::history() const {
  const int64_t reach = rows.size(1);
  // The oldest row stands where the next one will be written.
  const int64_t oldest = position % reach;
  return torch::cat({rows.narrow(1, oldest, reach - oldest), rows.narrow(1, 0, oldest)}, 1);
}

void ConvRing::append(const torch::Tensor& x) {
  const int64_t reach = rows.size(1), added = x.size(1);
  const int64_t kept = std::min(added, reach);  // of more than a ringful only the end survives
  const auto slots = torch::arange(position + added - kept, position + added,
                                   torch::TensorOptions(torch::kInt64).device(x.device())) %
                     reach;
  rows.index_copy_(1, slots, x.narrow(1, added - kept, kept));
  position += added;
}

torch::Tensor conv_step(const torch::Tensor& x, const torch::Tensor& taps,
                        const ConvGeometry& geometry, ConvRing& ring) {
  check_causal("conv_step", geometry);
  check_input("conv_step", x, {});
  check_taps("conv_step", x.size(2), static_sizes("conv_step", taps), geometry);
  if (fast::can_step(x, taps, ring)) return fast::conv_step(x, taps, geometry, ring);
  return reference::window_conv(window_of(x, geometry, ring), taps, geometry);
}

torch::Tensor dynamic_conv_step(const torch::Tensor& x, const torch::Tensor& tap_logits,
                                const DynamicTapOptions& options, const ConvGeometry& geometry,
                                ConvRing& ring) {
  const auto logits = by_head(tap_logits, geometry.kernel);
  check_causal("dynamic_conv_step", geometry);
  check_dynamic("dynamic_conv_step", x, logits, geometry);
  if (fast::can_step(x, logits, ring)) {
    const auto taps = kernel_taps(logits, options);
    return fast::dynamic_conv_step(x, taps.values, taps.softmax, geometry, ring);
  }
  const auto taps = dynamic_taps(logits, options);
  return reference::window_dynamic_conv(window_of(x, geometry, ring), taps, geometry);
}

}  // namespace convseq::ops
