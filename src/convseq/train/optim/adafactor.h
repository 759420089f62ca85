#pragma once

#include "convseq/train/optim/optimizer.h"

namespace convseq {

// Adafactor (Shazeer and Stern 2018) with T5's settings: no momentum, β2 = 1 − t^−0.8, steps
// relative to the RMS of the parameter.
//   V = β2 V + (1 − β2)(g² + 1e-30)
//   u = g / sqrt(V),  u = u / max(1, RMS(u))
//   p = p − lr·max(1e-3, RMS(p)) · (u + decay·p)
// If the two largest dimensions are both ≥ 128, only the means of V along each of them, R and C,
// are stored, and V = R ⊗ C / mean(R).
class Adafactor : public Optimizer {
 public:
  Adafactor(const OptimizerOptions& options, const TensorMap& parameters);

  // The number of running averages stored for a parameter of this shape.
  static double averages_of(torch::IntArrayRef shape);

 protected:
  void update(const Parameters& moving, double learning_rate) override;

 private:
  void update_equals(const Parameters& moving, double learning_rate);
  void to_inverse_root(torch::Tensor& squares, const Parameters& moving) const;

  double weight_decay_;
};

}  // namespace convseq
