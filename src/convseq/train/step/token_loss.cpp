#include "convseq/train/step/token_loss.h"

#include <ATen/OpMathType.h>
#include <fmt/ranges.h>
#include <torch/autograd.h>
#include <torch/types.h>
#include <torch/utils.h>

#include "convseq/base/error.h"
#include "convseq/ops/cross_entropy.h"

namespace convseq {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

bool is_narrow(const torch::Tensor& x) { return at::isReducedFloatingType(x.scalar_type()); }

// a·b and sum + a·b. For bf16 operands, tensor cores accumulate and return fp32.
torch::Tensor wide_matmul(const torch::Tensor& a, const torch::Tensor& b) {
  return is_narrow(a) ? at::mm(a, b, torch::kFloat32) : at::mm(a, b);
}

void put_matmul(torch::Tensor to, const torch::Tensor& a, const torch::Tensor& b) {
  if (is_narrow(a)) {
    at::mm_out(to, a, b, torch::kFloat32);
  } else {
    at::mm_out(to, a, b);
  }
}

void add_matmul(torch::Tensor& sum, const torch::Tensor& a, const torch::Tensor& b) {
  if (is_narrow(a)) {
    at::addmm_out(sum, sum, a, b, torch::kFloat32);
  } else {
    sum.addmm_(a, b);
  }
}

TokenLoss no_loss(torch::Device device) {
  const auto number = torch::TensorOptions(device).dtype(torch::kFloat64);
  const auto count = number.dtype(torch::kInt64);
  return {.loss_sum = at::zeros({}, number),
          .nll_sum = at::zeros({}, number),
          .z_loss_sum = at::zeros({}, number),
          .correct = at::zeros({}, count),
          .tokens = at::zeros({}, count)};
}

void add(TokenLoss& total, const ops::CrossEntropy& chunk, const torch::Tensor& labels) {
  total.loss_sum += chunk.loss;
  total.nll_sum += chunk.nll;
  total.z_loss_sum += chunk.z_loss;
  total.correct += chunk.correct;
  total.tokens += (labels != kIgnoredLabel).sum();
}

struct Learns {
  bool hidden = false;
  bool matrix = false;
};

// The gradients are computed in the forward pass, while the logits of a chunk exist. Recomputing
// the logits in the backward pass would add a fourth matmul with the vocabulary, the largest of the
// model, and would save only [V,d], which the gradient of the matrix needs soon after.
class TokenLossFunction : public torch::autograd::Function<TokenLossFunction> {
 public:
  static variable_list forward(AutogradContext* context, const torch::Tensor& hidden,
                               const torch::Tensor& matrix, const torch::Tensor& labels,
                               const TokenLossOptions& options, Learns learns) {
    // Libtorch has no CPU matmul from bf16 to fp32, so the operands are converted to fp32.
    const auto wide = at::toOpMathType(hidden.scalar_type());
    const auto inside = hidden.is_cpu() ? wide : hidden.scalar_type();
    const auto all_h = hidden.to(inside), w = matrix.to(inside);

    torch::Tensor hidden_gradient, matrix_gradient;
    if (learns.hidden) hidden_gradient = at::empty(hidden.sizes(), hidden.options().dtype(wide));
    if (learns.matrix) matrix_gradient = at::empty(matrix.sizes(), matrix.options().dtype(wide));
    if (learns.matrix && hidden.size(0) == 0) matrix_gradient.zero_();  // no chunk writes it
    TokenLoss total = no_loss(hidden.device());
    for (int64_t begin = 0; begin < hidden.size(0); begin += options.chunk_tokens) {
      const int64_t end = std::min(begin + options.chunk_tokens, hidden.size(0));
      const auto h = all_h.slice(0, begin, end);
      const auto logits = wide_matmul(h, w.t());
      const auto weights =
          options.weights.defined() ? options.weights.slice(0, begin, end) : torch::Tensor();
      const auto targets = labels.slice(0, begin, end);
      const bool wants_gradient = learns.hidden || learns.matrix;
      const auto chunk =
          ops::cross_entropy(logits, targets,
                             {.scale = options.output_scale,
                              .smoothing = options.label_smoothing,
                              .z_loss = options.z_loss,
                              .ignored = kIgnoredLabel,
                              .weights = weights,
                              .gradient = wants_gradient ? std::optional(inside) : std::nullopt});
      add(total, chunk, targets);
      if (!wants_gradient) continue;
      const auto& gradient = chunk.gradient;
      if (learns.hidden) put_matmul(hidden_gradient.slice(0, begin, end), gradient, w);
      if (!learns.matrix) continue;
      if (begin == 0) {
        put_matmul(matrix_gradient, gradient.t(), h);
      } else {
        add_matmul(matrix_gradient, gradient.t(), h);
      }
    }
    context->save_for_backward({hidden_gradient, matrix_gradient});
    context->saved_data["type"] = hidden.scalar_type();
    context->saved_data["scale"] = options.output_scale;
    const auto& [loss, nll, z_loss, correct, tokens] = total;
    context->mark_non_differentiable({nll, z_loss, correct, tokens});
    return {loss, nll, z_loss, correct, tokens};
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const auto type = context->saved_data["type"].toScalarType();
    const auto factor = gradients[0] * context->saved_data["scale"].toDouble();
    const auto scaled = [&](const torch::Tensor& gradient) {
      return gradient.defined() ? (gradient * factor.to(gradient.scalar_type())).to(type)
                                : gradient;
    };
    const auto saved = context->get_saved_variables();
    return {scaled(saved[0]), scaled(saved[1]), {}, {}, {}};
  }
};

void check(const torch::Tensor& hidden, const torch::Tensor& matrix, const torch::Tensor& labels,
           const TokenLossOptions& options) {
  require(hidden.dim() == 2 && matrix.dim() == 2 && hidden.size(1) == matrix.size(1),
          "token_loss: hidden [{}] and output matrix [{}]; wants [N, d] and [V, d]",
          fmt::join(hidden.sizes().vec(), ", "), fmt::join(matrix.sizes().vec(), ", "));
  require(labels.dim() == 1 && labels.size(0) == hidden.size(0),
          "token_loss: labels [{}] for {} hidden states", fmt::join(labels.sizes().vec(), ", "),
          hidden.size(0));
  require(hidden.scalar_type() == matrix.scalar_type(),
          "token_loss: hidden is {} and the output matrix {}; wants one type",
          c10::toString(hidden.scalar_type()), c10::toString(matrix.scalar_type()));
  require(!options.weights.defined() || options.weights.sizes() == labels.sizes(),
          "token_loss: {} weights for {} labels",
          options.weights.defined() ? options.weights.numel() : 0, labels.numel());
  require(options.label_smoothing >= 0 && options.label_smoothing < 1,
          "token_loss: label_smoothing is {}; must be in [0, 1)", options.label_smoothing);
  require(options.z_loss >= 0, "token_loss: z_loss is {}; must be ≥ 0", options.z_loss);
  require(options.chunk_tokens >= 1, "token_loss: chunk_tokens is {}; must be ≥ 1",
          options.chunk_tokens);
}

}  // namespace

int64_t loss_chunk_tokens(int64_t tokens, torch::Device device) {
  if (device.is_cpu()) return TokenLossOptions{}.chunk_tokens;
  constexpr int64_t kMost = 8192;
  const int64_t chunks = (tokens + kMost - 1) / kMost;
  return std::max<int64_t>(1, (tokens + chunks - 1) / std::max<int64_t>(1, chunks));
}

TokenLoss token_loss(const torch::Tensor& hidden, const torch::Tensor& output_matrix,
                     const torch::Tensor& labels, const TokenLossOptions& options) {
  check(hidden, output_matrix, labels, options);
  const bool learning = torch::GradMode::is_enabled();
  const auto sums =
      TokenLossFunction::apply(hidden, output_matrix, labels, options,
                               Learns{.hidden = learning && hidden.requires_grad(),
                                      .matrix = learning && output_matrix.requires_grad()});
  return {sums[0], sums[1], sums[2], sums[3], sums[4]};
}

}  // namespace convseq
