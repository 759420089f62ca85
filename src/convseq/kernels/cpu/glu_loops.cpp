#include "convseq/kernels/cpu/conv_input.h"

// The gates alone.
namespace convseq::kernels::CONVSEQ_LEVEL {

void multiply_row(const float* factor, int64_t channels, float* y) {
  for_blocks(0, channels, [&](auto width, int64_t c) {
    constexpr int W = decltype(width)::kValue;
    store<W>(y + c, load<W>(factor + c) * load<W>(y + c));
  });
}

void gate_rows(ConvGate gate, const float* x, int64_t x_stride, int64_t count, int64_t channels,
               float* to) {
  for (int64_t t = 0; t < count; ++t, x += x_stride, to += channels) {
    if (gate == ConvGate::Glu) {
      gate_row(x, channels, to, /*streamed=*/false);
    } else {
      __builtin_memcpy(to, x, static_cast<size_t>(channels) * sizeof(float));
      if (gate == ConvGate::Product) multiply_row(x + 2 * channels, channels, to);
    }
  }
}

void glu_forward(const ConvShape& shape, const ConvForward& arrays, Pieces pieces, Part part) {
  with_type(shape.type, [&](auto zero) {
    using T = decltype(zero);
    const int64_t channels = shape.channels;
    const bool streamed = is_streamed<T>(shape, arrays.y, channels);
    for (int64_t n = part.begin; n < part.end; ++n) {
      const auto [sequence, begin, end] = piece_of(shape, pieces, n);
      const int64_t last = larger(begin, smaller(end, length_of(shape, arrays.lengths, sequence)));
      const T* x = row_of<T>(arrays.x, sequence * shape.time, 2 * channels);
      T* y = row_of<T>(arrays.y, sequence * shape.time, channels);
      for (int64_t t = begin; t < last; ++t) {
        gate_row(x + t * 2 * channels, channels, y + t * channels, streamed);
      }
      zero_rows(y + last * channels, end - last, channels);
    }
    if (streamed) fence_streams();
  });
}

void glu_backward(const ConvShape& shape, const ConvBackward& arrays, Pieces pieces, Part part) {
  with_type(shape.type, [&](auto zero) {
    using T = decltype(zero);
    const int64_t channels = shape.channels;
    const bool streamed = is_streamed<T>(shape, arrays.dx, 2 * channels);
    for (int64_t n = part.begin; n < part.end; ++n) {
      const auto [sequence, begin, end] = piece_of(shape, pieces, n);
      const int64_t last = larger(begin, smaller(end, length_of(shape, arrays.lengths, sequence)));
      const T* x = row_of<T>(arrays.x, sequence * shape.time, 2 * channels);
      const T* dy = row_of<T>(arrays.dy, sequence * shape.time, channels);
      T* dx = row_of<T>(arrays.dx, sequence * shape.time, 2 * channels);
      for (int64_t t = begin; t < last; ++t) {
        const int64_t at = t * 2 * channels;
        gate_gradient_row(x + at, dy + t * channels, channels, dx + at, streamed);
      }
      zero_rows(dx + last * 2 * channels, end - last, 2 * channels);
    }
    if (streamed) fence_streams();
  });
}

}  // namespace convseq::kernels::CONVSEQ_LEVEL
