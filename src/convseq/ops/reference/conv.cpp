#include "convseq/ops/reference/conv.h"

#include <torch/types.h>

#include "convseq/ops/reference/precision.h"

namespace convseq::ops::reference {
namespace {

// One tap of every head, [..., H], repeated for the channels of its group: [..., C].
torch::Tensor expand_to_channels(const torch::Tensor& tap, int64_t channels) {
  return tap.repeat_interleave(channels / tap.size(-1), -1);
}

// The convolution without padding: `window` [B, reach + T, C] holds all inputs of T outputs, and
// taps are [B,T,H,k].
torch::Tensor window_conv(const torch::Tensor& window, const torch::Tensor& taps,
                          const ConvGeometry& geometry) {
  const int64_t time = window.size(1) - geometry.reach();
  const auto x = window.to(accumulate_type(window));
  const auto weights = taps.to(x.scalar_type());
  auto sum = torch::zeros({x.size(0), time, x.size(2)}, x.options());
  for (int64_t j = 0; j < geometry.kernel; ++j) {
    sum = sum + expand_to_channels(weights.select(-1, j), x.size(2)) *
                    x.narrow(1, j * geometry.dilation, time);
  }
  return sum.to(window.scalar_type());
}

torch::Tensor pad_time(const torch::Tensor& x, const ConvGeometry& geometry) {
  return torch::constant_pad_nd(x, {0, 0, geometry.left(), geometry.right()});
}

// Static taps [H,k] are taps that are the same at every position.
torch::Tensor at_every_position(const torch::Tensor& taps) {
  return taps.unsqueeze(0).unsqueeze(0);
}

torch::Tensor history(const ConvRing& ring) {  // [B, reach, C], oldest first
  const auto& rows = ring.rows;
  const int64_t reach = rows.size(1);
  // The next row overwrites the oldest.
  const int64_t oldest = ring.position % reach;
  return torch::cat({rows.narrow(1, oldest, reach - oldest), rows.narrow(1, 0, oldest)}, 1);
}

void append(ConvRing& ring, const torch::Tensor& x) {  // [B,n,C]
  const int64_t reach = ring.rows.size(1), added = x.size(1);
  const int64_t kept = std::min(added, reach);  // of more than `reach` rows only the last are kept
  const auto slots = torch::arange(ring.position + added - kept, ring.position + added,
                                   torch::TensorOptions(torch::kInt64).device(x.device())) %
                     reach;
  ring.rows.index_copy_(1, slots, x.narrow(1, added - kept, kept));
  ring.position += added;
}

// The inputs that the k taps of one position read, [B,k,C], where each row has its own position;
// x [B,1,C] is stored in the ring.
torch::Tensor tap_inputs(const torch::Tensor& x, const ConvGeometry& geometry, ConvRing& ring) {
  const int64_t reach = geometry.reach();
  if (reach == 0) return x;
  const auto& positions = ring.positions;
  const auto before = torch::arange(geometry.kernel - 1, 0, -1, positions.options());
  const auto read = (positions.unsqueeze(1) - before * geometry.dilation).unsqueeze(-1);
  const auto slots = read.remainder(reach).expand({-1, -1, x.size(2)});
  const auto past =
      torch::where(read >= 0, ring.rows.gather(1, slots), torch::zeros({}, ring.rows.options()));
  ring.rows.scatter_(1, positions.remainder(reach).view({-1, 1, 1}).expand_as(x), x);
  return torch::cat({past, x}, 1);
}

// The inputs of n new positions: what the ring holds, then x, which is appended to the ring.
torch::Tensor step_window(const torch::Tensor& x, const ConvGeometry& geometry, ConvRing& ring) {
  if (geometry.reach() == 0) return x;
  const auto window = torch::cat({history(ring), x}, 1);
  append(ring, x);
  return window;
}

torch::Tensor step_conv(const torch::Tensor& x, const torch::Tensor& taps,
                        const ConvGeometry& geometry, ConvRing& ring) {
  if (!ring.positions.defined()) return window_conv(step_window(x, geometry, ring), taps, geometry);
  const ConvGeometry dense{.kernel = geometry.kernel, .alignment = Alignment::Causal};
  return window_conv(tap_inputs(x, geometry, ring), taps, dense);
}

}  // namespace

torch::Tensor mask_padding(const torch::Tensor& x, const Lengths& lengths) {
  if (lengths.all_full()) return x;
  // torch::where and not a product: padding may hold anything, also infinities.
  return torch::where(lengths.mask(x.size(1)).unsqueeze(-1), x, torch::zeros({}, x.options()));
}

torch::Tensor glu(const torch::Tensor& projected, const Lengths& lengths) {
  const auto halves = projected.to(accumulate_type(projected)).chunk(2, -1);
  const auto gated = halves[0] * halves[1].sigmoid();
  return reference::mask_padding(gated, lengths).to(projected.scalar_type());
}

torch::Tensor conv(const torch::Tensor& x, const torch::Tensor& taps, const Lengths& lengths,
                   const ConvGeometry& geometry) {
  const auto window = pad_time(reference::mask_padding(x, lengths), geometry);
  return window_conv(window, at_every_position(taps), geometry);
}

torch::Tensor glu_conv(const torch::Tensor& projected, const torch::Tensor& taps,
                       const Lengths& lengths, const ConvGeometry& geometry) {
  return reference::conv(reference::glu(projected, lengths), taps, /*lengths=*/{}, geometry);
}

torch::Tensor dynamic_conv(const torch::Tensor& x, const torch::Tensor& tap_logits,
                           const DynamicTapOptions& options, const ConvGeometry& geometry) {
  return window_conv(pad_time(x, geometry), dynamic_taps(tap_logits, options), geometry);
}

torch::Tensor conv_step(const torch::Tensor& x, const torch::Tensor& taps,
                        const ConvGeometry& geometry, ConvRing& ring) {
  return step_conv(x, at_every_position(taps), geometry, ring);
}

torch::Tensor dynamic_conv_step(const torch::Tensor& x, const torch::Tensor& tap_logits,
                                const DynamicTapOptions& options, const ConvGeometry& geometry,
                                ConvRing& ring) {
  return step_conv(x, dynamic_taps(tap_logits, options), geometry, ring);
}

torch::Tensor tap_softmax(const torch::Tensor& logits) {
  return torch::softmax(logits, -1, accumulate_type(logits));
}

torch::Tensor dynamic_taps(const torch::Tensor& logits, const DynamicTapOptions& options) {
  const auto taps = options.softmax ? tap_softmax(logits) : logits;
  return options.dropout > 0 ? torch::dropout(taps, options.dropout, true) : taps;
}

}  // namespace convseq::ops::reference
