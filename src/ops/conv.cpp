#include "ops/conv.h"

#include <torch/torch.h>

#include "base/error.h"
#include "ops/reference.h"

namespace convseq::ops {
namespace {

void check(const char* op, const torch::Tensor& x, int64_t heads, int64_t kernel,
           const Lengths& lengths, const ConvGeometry& geometry) {
  require(x.dim() == 3, "{}: input has {} dimensions; wants [batch, time, channels]", op, x.dim());
  require(geometry.kernel >= 1 && geometry.dilation >= 1,
          "{}: kernel {} and dilation {}; both must be ≥ 1", op, geometry.kernel,
          geometry.dilation);
  require(kernel == geometry.kernel, "{}: {} taps for kernel {}", op, kernel, geometry.kernel);
  require(heads >= 1 && x.size(2) % heads == 0, "{}: {} channels do not divide into {} heads", op,
          x.size(2), heads);
  require(lengths.all_full() || (lengths.values.dim() == 1 && lengths.values.size(0) == x.size(0)),
          "{}: lengths for {} rows, input has {}", op,
          lengths.all_full() ? 0 : lengths.values.numel(), x.size(0));
}

torch::Tensor dynamic_taps(const torch::Tensor& logits, const DynamicTapOptions& options,
                           int64_t kernel) {
  require(logits.dim() == 3 && logits.size(2) % kernel == 0,
          "dynamic_conv: {} tap logits a position do not divide by kernel {}", logits.size(-1),
          kernel);
  auto taps = logits.unflatten(-1, {logits.size(2) / kernel, kernel});
  if (options.softmax) taps = reference::tap_softmax(taps);
  return options.dropout > 0 ? torch::dropout(taps, options.dropout, true) : taps;
}

// The window that n new positions read: what the ring holds, then x. The ring moves on.
torch::Tensor window_of(const torch::Tensor& x, const ConvGeometry& geometry, ConvRing& ring) {
  require(geometry.alignment == Alignment::Causal,
          "conv_step: only a causal convolution can be stepped");
  if (geometry.reach() == 0) return x;
  const auto window = torch::cat({ring.history(), x}, 1);
  ring.append(x);
  return window;
}

}  // namespace

torch::Tensor mask_padding(const torch::Tensor& x, const Lengths& lengths) {
  return reference::mask_padding(x, lengths);
}

torch::Tensor tap_softmax(const torch::Tensor& logits) { return reference::tap_softmax(logits); }

torch::Tensor glu(const torch::Tensor& projected, const Lengths& lengths) {
  require(projected.dim() == 3 && projected.size(2) % 2 == 0,
          "glu: wants [batch, time, 2 * channels], got {} channels", projected.size(-1));
  return reference::glu(projected, lengths);
}

torch::Tensor conv(const torch::Tensor& x, const torch::Tensor& taps, const Lengths& lengths,
                   const ConvGeometry& geometry) {
  check("conv", x, taps.size(0), taps.size(1), lengths, geometry);
  return reference::conv(reference::mask_padding(x, lengths), taps, geometry);
}

torch::Tensor glu_conv(const torch::Tensor& projected, const torch::Tensor& taps,
                       const Lengths& lengths, const ConvGeometry& geometry) {
  return conv(glu(projected, lengths), taps, {}, geometry);
}

torch::Tensor dynamic_conv(const torch::Tensor& x, const torch::Tensor& tap_logits,
                           const DynamicTapOptions& options, const ConvGeometry& geometry) {
  const auto taps = dynamic_taps(tap_logits, options, geometry.kernel);
  check("dynamic_conv", x, taps.size(2), taps.size(3), {}, geometry);
  return reference::dynamic_conv(x, taps, geometry);
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
  check("conv_step", x, taps.size(0), taps.size(1), {}, geometry);
  return reference::window_conv(window_of(x, geometry, ring), taps, geometry);
}

torch::Tensor dynamic_conv_step(const torch::Tensor& x, const torch::Tensor& tap_logits,
                                const DynamicTapOptions& options, const ConvGeometry& geometry,
                                ConvRing& ring) {
  const auto taps = dynamic_taps(tap_logits, options, geometry.kernel);
  check("dynamic_conv_step", x, taps.size(2), taps.size(3), {}, geometry);
  return reference::window_dynamic_conv(window_of(x, geometry, ring), taps, geometry);
}

}  // namespace convseq::ops
