#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "convseq/kernels/conv.h"

// The convolutions in double precision. Each result comes with the sum of the magnitudes of its
// terms, to which errors are compared.
namespace convseq::kernels::oracle {

struct Sums {
  std::vector<double> value;
  std::vector<double> magnitude;

  explicit Sums(int64_t size)
      : value(static_cast<size_t>(size)), magnitude(static_cast<size_t>(size)) {}

  void add(int64_t index, double term) {
    value[static_cast<size_t>(index)] += term;
    magnitude[static_cast<size_t>(index)] += std::abs(term);
  }
};

using Numbers = std::vector<double>;

inline double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

struct Case {
  ConvShape shape;
  std::vector<int64_t> lengths;  // empty: all full

  int64_t activations() const { return shape.batch * shape.time * shape.channels; }
  int64_t inputs() const { return activations() * (shape.glu ? 2 : 1); }
  bool real(int64_t b, int64_t t) const {
    return t >= 0 && t < shape.time && (lengths.empty() || t < lengths[static_cast<size_t>(b)]);
  }
  int64_t at(int64_t b, int64_t t, int64_t c) const {
    return (b * shape.time + t) * shape.channels + c;
  }
  int64_t value_at(int64_t b, int64_t t, int64_t c) const {
    return (b * shape.time + t) * shape.channels * (shape.glu ? 2 : 1) + c;
  }
  int64_t head(int64_t c) const { return c / (shape.channels / shape.heads); }

  // Calls use(b, i, s, c, j) for every output i, channel c and tap j that reads a position s.
  template <class Use>
  void for_terms(Use use) const {
    for (int64_t b = 0; b < shape.batch; ++b) {
      for (int64_t i = 0; i < shape.time; ++i) {
        for (int64_t j = 0; j < shape.kernel; ++j) {
          const int64_t s = i - shape.left + j * shape.dilation;
          if (s < 0 || s >= shape.time) continue;
          for (int64_t c = 0; c < shape.channels; ++c) use(b, i, s, c, j);
        }
      }
    }
  }
};

// The input of the convolution: gated where shape.glu is set, zero where padded.
inline Numbers gated(const Case& test, const Numbers& x) {
  Numbers made(static_cast<size_t>(test.activations()));
  for (int64_t b = 0; b < test.shape.batch; ++b) {
    for (int64_t t = 0; t < test.shape.time; ++t) {
      if (!test.real(b, t)) continue;
      for (int64_t c = 0; c < test.shape.channels; ++c) {
        const double value = x[static_cast<size_t>(test.value_at(b, t, c))];
        const double open =
            test.shape.glu
                ? sigmoid(x[static_cast<size_t>(test.value_at(b, t, c) + test.shape.channels)])
                : 1;
        made[static_cast<size_t>(test.at(b, t, c))] = value * open;
      }
    }
  }
  return made;
}

// The gradient of x from that of the gated input.
inline Sums ungated(const Case& test, const Numbers& x, const Sums& gradient) {
  Sums made(test.inputs());
  for (int64_t b = 0; b < test.shape.batch; ++b) {
    for (int64_t t = 0; t < test.shape.time; ++t) {
      if (!test.real(b, t)) continue;
      for (int64_t c = 0; c < test.shape.channels; ++c) {
        const auto to = static_cast<size_t>(test.value_at(b, t, c));
        const auto from = static_cast<size_t>(test.at(b, t, c));
        const auto gate = to + static_cast<size_t>(test.shape.channels);
        const double open = test.shape.glu ? sigmoid(x[gate]) : 1;
        made.value[to] = gradient.value[from] * open;
        made.magnitude[to] = gradient.magnitude[from] * open;
        if (!test.shape.glu) continue;
        made.value[gate] = gradient.value[from] * x[to] * open * (1 - open);
        made.magnitude[gate] = gradient.magnitude[from] * std::abs(x[to]) * open;
      }
    }
  }
  return made;
}

inline Sums forward(const Case& test, const Numbers& x, const Numbers& taps) {
  const Numbers u = gated(test, x);
  Sums y(test.activations());
  test.for_terms([&](int64_t b, int64_t i, int64_t s, int64_t c, int64_t j) {
    y.add(test.at(b, i, c), taps[static_cast<size_t>(test.head(c) * test.shape.kernel + j)] *
                                u[static_cast<size_t>(test.at(b, s, c))]);
  });
  return y;
}

struct Gradients {
  Sums dx;
  Sums dtaps;
};

inline Gradients backward(const Case& test, const Numbers& x, const Numbers& taps,
                          const Numbers& dy) {
  const Numbers u = gated(test, x);
  Sums du(test.activations());
  Sums dtaps(test.shape.heads * test.shape.kernel);
  test.for_terms([&](int64_t b, int64_t i, int64_t s, int64_t c, int64_t j) {
    const int64_t tap = test.head(c) * test.shape.kernel + j;
    const double gradient = dy[static_cast<size_t>(test.at(b, i, c))];
    du.add(test.at(b, s, c), taps[static_cast<size_t>(tap)] * gradient);
    dtaps.add(tap, u[static_cast<size_t>(test.at(b, s, c))] * gradient);
  });
  return {ungated(test, x, du), dtaps};
}

// Rows of k logits to taps.
inline Numbers softmax(const Numbers& logits, int64_t kernel) {
  Numbers made = logits;
  for (auto row = made.begin(); row != made.end(); row += kernel) {
    const double most = *std::max_element(row, row + kernel);
    double sum = 0;
    for (auto each = row; each != row + kernel; ++each) sum += * each = std::exp(*each - most);
    for (auto each = row; each != row + kernel; ++each) *each /= sum;
  }
  return made;
}

inline int64_t dynamic_tap(const Case& test, int64_t b, int64_t i, int64_t c, int64_t j) {
  return ((b * test.shape.time + i) * test.shape.heads + test.head(c)) * test.shape.kernel + j;
}

inline Sums dynamic_forward(const Case& test, const Numbers& x, const Numbers& taps) {
  Sums y(test.activations());
  test.for_terms([&](int64_t b, int64_t i, int64_t s, int64_t c, int64_t j) {
    y.add(test.at(b, i, c), taps[static_cast<size_t>(dynamic_tap(test, b, i, c, j))] *
                                x[static_cast<size_t>(test.at(b, s, c))]);
  });
  return y;
}

// The gradient of the taps; softmax_gradient() gives that of the logits.
inline Gradients dynamic_backward(const Case& test, const Numbers& x, const Numbers& taps,
                                  const Numbers& dy) {
  Sums dx(test.activations());
  Sums dtaps(static_cast<int64_t>(taps.size()));
  test.for_terms([&](int64_t b, int64_t i, int64_t s, int64_t c, int64_t j) {
    const int64_t tap = dynamic_tap(test, b, i, c, j);
    const double gradient = dy[static_cast<size_t>(test.at(b, i, c))];
    dx.add(test.at(b, s, c), taps[static_cast<size_t>(tap)] * gradient);
    dtaps.add(tap, x[static_cast<size_t>(test.at(b, s, c))] * gradient);
  });
  return {dx, dtaps};
}

inline Sums softmax_gradient(const Numbers& taps, const Sums& dtaps, int64_t kernel) {
  Sums made(static_cast<int64_t>(taps.size()));
  for (size_t row = 0; row < taps.size(); row += static_cast<size_t>(kernel)) {
    double mean = 0, magnitude = 0;
    for (size_t j = row; j < row + static_cast<size_t>(kernel); ++j) {
      mean += taps[j] * dtaps.value[j];
      magnitude += taps[j] * dtaps.magnitude[j];
    }
    for (size_t j = row; j < row + static_cast<size_t>(kernel); ++j) {
      made.value[j] = taps[j] * (dtaps.value[j] - mean);
      made.magnitude[j] = taps[j] * (dtaps.magnitude[j] + magnitude);
    }
  }
  return made;
}

}  // namespace convseq::kernels::oracle
