#include "convseq/eval/statistics/students_t.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "convseq/base/error.h"

namespace convseq {
namespace {

// Beyond this the quantile differs from the normal distribution's by less than one in a million.
constexpr double kMostDegrees = 1e6;

// Numerator k of the continued fraction of I_x(a, b): 1 / (1 + d1 / (1 + d2 / (1 + …))).
double numerator(double a, double b, double x, int k) {
  const int m = k / 2;
  if (k % 2 == 0) return m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
  return -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
}

// Evaluated from the front by Lentz's method; converges fast for x < (a + 1) / (a + b + 2).
double continued_fraction(double a, double b, double x) {
  constexpr double kTiny = 1e-300;
  constexpr int kMostTerms = 20'000;
  const auto not_zero = [](double value) { return std::abs(value) < kTiny ? kTiny : value; };
  double ratio_above = 1, ratio_below = 0, fraction = 1;
  for (int k = 1; k <= kMostTerms; ++k) {
    const double d = numerator(a, b, x, k);
    ratio_below = 1 / not_zero(1 + d * ratio_below);
    ratio_above = not_zero(1 + d / ratio_above);
    const double factor = ratio_above * ratio_below;
    fraction *= factor;
    if (std::abs(factor - 1) < 4 * std::numeric_limits<double>::epsilon()) break;
  }
  return 1 / fraction;
}

}  // namespace

double incomplete_beta(double a, double b, double x) {
  require(a > 0 && b > 0 && x >= 0 && x <= 1, "incomplete_beta: no value at a={}, b={}, x={}", a, b,
          x);
  if (x == 0 || x == 1) return x;
  if (x > (a + 1) / (a + b + 2)) return 1 - incomplete_beta(b, a, 1 - x);
  const double log_beta = std::lgamma(a) + std::lgamma(b) - std::lgamma(a + b);
  return std::exp(a * std::log(x) + b * std::log1p(-x) - log_beta) / a *
         continued_fraction(a, b, x);
}

double students_t_upper_tail(double t, double degrees) {
  if (t < 0) return 1 - students_t_upper_tail(-t, degrees);
  // P(T > t) = I_{ν/(ν + t²)}(ν/2, 1/2) / 2; the complement where the argument is near 1.
  const double square = t * t;
  if (square < degrees)
    return 0.5 - incomplete_beta(0.5, degrees / 2, square / (degrees + square)) / 2;
  return incomplete_beta(degrees / 2, 0.5, degrees / (degrees + square)) / 2;
}

double students_t_quantile(double confidence, double degrees) {
  require(confidence >= 0 && confidence < 1, "confidence {} is not in [0, 1)", confidence);
  require(degrees > 0, "{} degrees of freedom; Student's t needs more than 0", degrees);
  const double tail = (1 - confidence) / 2;
  degrees = std::min(degrees, kMostDegrees);
  double low = 0, high = 1;
  while (students_t_upper_tail(high, degrees) > tail) high *= 2;
  for (int halving = 0; halving < 60; ++halving) {
    const double middle = (low + high) / 2;
    (students_t_upper_tail(middle, degrees) > tail ? low : high) = middle;
  }
  return (low + high) / 2;
}

}  // namespace convseq
