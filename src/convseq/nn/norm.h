#pragma once

#include <torch/nn/module.h>
#include <torch/types.h>

#include "convseq/nn/branch_sum.h"
#include "convseq/nn/stream.h"
#include "convseq/ops/norm.h"
#include "convseq/spec/layer_kinds.h"

namespace convseq::nn {

struct NormOptions {
  NormStyle style = NormStyle::BranchLayerNorm;
  int64_t channels = 0;
  double eps = 1e-6;
};

// The paper's LayerNorm or T5's RMSNorm (scale only), depending on the style.
class Norm : public torch::nn::Module {
 public:
  explicit Norm(const NormOptions& options);
  torch::Tensor forward(const torch::Tensor& x) const;

  // x + branch(norm(x)) or x + norm(branch(x)), depending on the style. The norm and the sum are
  // fused where possible.
  template <class Branch>
  torch::Tensor around(const torch::Tensor& x, Branch branch) const {
    const Stream stream = x;
    if (options_.style == NormStyle::BranchLayerNorm) {
      const auto y = branch(stream);
      return add_normed(stream, y);
    }
    const Stream normed = stream.through(
        [&](const auto& values) { return ops::rms_norm_and_input(values, weight_, options_.eps); });
    const auto y = branch(normed);
    return stream + y;
  }
  ops::LayerNormParameters layer_norm() const { return {weight_, bias_, options_.eps}; }
  void initialise();

 private:
  torch::Tensor add_normed(const torch::Tensor& x, const torch::Tensor& branch) const;

  NormOptions options_;
  torch::Tensor weight_;
  torch::Tensor bias_;  // LayerNorm only
};

struct ResidualOptions {
  NormStyle style = NormStyle::BranchLayerNorm;
  double dropout = 0;
};

// The residual connection around a sub-layer f:
//   branch_layer_norm (the paper):  x + dropout(Norm(f(x)))
//   pre_rms_norm (T5):              x + dropout(f(Norm(x)))
class Residual {
 public:
  explicit Residual(const ResidualOptions& options) : options_(options) {}

  template <class Branch>
  torch::Tensor operator()(const torch::Tensor& x, const Norm& norm, Branch branch) const {
    if (options_.dropout == 0 || !norm.is_training()) return norm.around(x, branch);
    const bool before = options_.style == NormStyle::PreRmsNorm;
    const auto y = before ? branch(norm.forward(x)) : norm.forward(branch(x));
    return x + at::dropout(y, options_.dropout, /*train=*/true);
  }

  // The same for inference, where branch(y, sum) ends with a matmul that computes the sum.
  template <class Branch>
  torch::Tensor infer(const torch::Tensor& x, const Norm& norm, Branch branch) const {
    if (options_.style == NormStyle::PreRmsNorm) {
      return branch(norm.forward(x), BranchSum{.residual = x});
    }
    return branch(x, BranchSum{.residual = x, .norm = norm.layer_norm()});
  }

 private:
  ResidualOptions options_;
};

}  // namespace convseq::nn
