#include "convseq/ops/reference/reference.h"

#include <torch/types.h>

namespace convseq::ops::reference {
namespace {

// The type sums are kept in.
torch::Dtype accumulate_type(const torch::Tensor& x) {
  return x.scalar_type() == torch::kFloat64 ? torch::kFloat64 : torch::kFloat32;
}

// One tap of every head, [..., H], spread over the channels of its group: [..., C].
torch::Tensor spread(const torch::Tensor& tap, int64_t channels) {
  return tap.repeat_interleave(channels / tap.size(-1), -1);
}

torch::Tensor pad_time(const torch::Tensor& x, const ConvGeometry& geometry) {
  return torch::constant_pad_nd(x, {0, 0, geometry.left(), geometry.right()});
}

}  // namespace

torch::Tensor mask_padding(const torch::Tensor& x, const Lengths& lengths) {
  if (lengths.all_full()) return x;
  // Selected, not multiplied: padding may hold anything, infinities too.
  return torch::where(lengths.mask(x.size(1)).unsqueeze(-1), x, torch::zeros({}, x.options()));
}

torch::Tensor glu(const torch::Tensor& projected, const Lengths& lengths) {
  const auto halves = projected.to(accumulate_type(projected)).chunk(2, -1);
  const auto gated = halves[0] * halves[1].sigmoid();
  return mask_padding(gated, lengths).to(projected.scalar_type());
}

torch::Tensor window_conv(const torch::Tensor& window, const torch::Tensor& taps,
                          const ConvGeometry& geometry) {
  // Static taps are taps that are the same at every position.
  return window_dynamic_conv(window, taps.unsqueeze(0).unsqueeze(0), geometry);
}

torch::Tensor window_dynamic_conv(const torch::Tensor& window, const torch::Tensor& taps,
                                  const ConvGeometry& geometry) {
  const int64_t time = window.size(1) - geometry.reach();
  const auto x = window.to(accumulate_type(window));
  const auto weights = taps.to(x.scalar_type());
  auto sum = torch::zeros({x.size(0), time, x.size(2)}, x.options());
  for (int64_t j = 0; j < geometry.kernel; ++j) {
    sum = sum + spread(weights.select(-1, j), x.size(2)) * x.narrow(1, j * geometry.dilation, time);
  }
  return sum.to(window.scalar_type());
}

torch::Tensor conv(const torch::Tensor& x, const torch::Tensor& taps,
                   const ConvGeometry& geometry) {
  return window_conv(pad_time(x, geometry), taps, geometry);
}

torch::Tensor dynamic_conv(const torch::Tensor& x, const torch::Tensor& taps,
                           const ConvGeometry& geometry) {
  return window_dynamic_conv(pad_time(x, geometry), taps, geometry);
}

torch::Tensor tap_softmax(const torch::Tensor& logits) {
  return torch::softmax(logits, -1, accumulate_type(logits));
}

torch::Tensor layer_norm(const torch::Tensor& x, const torch::Tensor& weight,
                         const torch::Tensor& bias, double eps) {
  const auto wide = x.to(accumulate_type(x));
  const auto centred = wide - wide.mean(-1, true);
  const auto scale = torch::rsqrt(centred.square().mean(-1, true) + eps);
  return (centred * scale * weight + bias).to(x.scalar_type());
}

torch::Tensor rms_norm(const torch::Tensor& x, const torch::Tensor& weight, double eps) {
  const auto wide = x.to(accumulate_type(x));
  const auto scale = torch::rsqrt(wide.square().mean(-1, true) + eps);
  return (wide * scale * weight).to(x.scalar_type());
}

}  // namespace convseq::ops::reference
