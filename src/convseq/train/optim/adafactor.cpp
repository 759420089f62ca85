#include "convseq/train/optim/adafactor.h"

#include <fmt/ranges.h>
#include <torch/types.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

#include "convseq/ops/reference/tensor_norms.h"

namespace convseq {
namespace {

constexpr double kDecayExponent = -0.8;
constexpr double kLargestUpdate = 1.0;  // of the RMS
constexpr double kSmallestSquare = 1e-30;
constexpr int64_t kSmallestFactored = 128;

// V is factored over the two largest dimensions, returned with the lower index first. Among equal
// dimensions the later ones are taken.
std::optional<std::pair<int64_t, int64_t>> factored_dimensions(torch::IntArrayRef shape) {
  if (shape.size() < 2) return std::nullopt;
  std::vector<int64_t> order(shape.size());
  std::iota(order.rbegin(), order.rend(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](int64_t a, int64_t b) { return shape[a] > shape[b]; });
  if (shape[order[1]] < kSmallestFactored) return std::nullopt;
  return std::minmax(order[0], order[1]);
}

// Reshapes one number per stacked tensor for broadcasting, [n] -> [n,1,…].
torch::Tensor for_each_of(const torch::Tensor& stack, const torch::Tensor& numbers) {
  std::vector<int64_t> shape(stack.dim(), 1);
  shape[0] = numbers.size(0);
  return numbers.view(shape);
}

}  // namespace

Adafactor::Adafactor(const OptimizerOptions& options, const TensorMap& parameters)
    : Optimizer(parameters), weight_decay_(options.weight_decay) {
  for (auto& [name, value, averages] : this->parameters()) {
    if (const auto factored = factored_dimensions(value.sizes())) {
      averages["row"] = torch::zeros_like(value.select(factored->second, 0));
      averages["column"] = torch::zeros_like(value.select(factored->first, 0));
    } else {
      averages["square"] = torch::zeros_like(value);
    }
  }
}

double Adafactor::averages_of(torch::IntArrayRef shape) {
  double all = 1;
  for (const int64_t size : shape) all *= static_cast<double>(size);
  const auto factored = factored_dimensions(shape);
  if (!factored) return all;
  return all / static_cast<double>(shape[factored->first]) +
         all / static_cast<double>(shape[factored->second]);
}

// There are no _foreach ops for means along a dimension or for clipping by the update's own RMS.
// Parameters of the same shape are therefore stacked: a step takes a few launches per shape and no
// device-to-host copy.
void Adafactor::update(const Parameters& moving, double learning_rate) {
  std::map<std::string, Parameters> by_shape;
  for (Parameter* parameter : moving) {
    const auto& value = parameter->value;
    by_shape[fmt::format("{} {} {}", fmt::join(value.sizes().vec(), " "),
                         c10::toString(value.scalar_type()), value.device().str())]
        .push_back(parameter);
  }
  for (const auto& [shape, parameters] : by_shape) update_equals(parameters, learning_rate);
}

void Adafactor::update_equals(const Parameters& moving, double learning_rate) {
  const auto p = values(moving), g = gradients(moving);
  auto update = at::stack(g).square_().add_(kSmallestSquare);
  to_inverse_root(update, moving);
  const auto u = update.unbind(0);
  at::_foreach_mul_(u, g);

  const auto step = ops::parameter_scales(p).mul_(learning_rate);
  const auto excess = ops::root_mean_squares(u).div_(kLargestUpdate).clamp_min_(1);
  update.mul_(for_each_of(update, step / excess));
  if (weight_decay_ > 0 && decays(p.front())) {
    update.add_(at::stack(p).mul_(for_each_of(update, step)), weight_decay_);
  }
  at::_foreach_sub_(p, u);
}

// Updates the running averages with the squares [n,…] of this step and replaces the squares by
// 1/sqrt(V).
void Adafactor::to_inverse_root(torch::Tensor& squares, const Parameters& moving) const {
  const double fresh = std::pow(static_cast<double>(steps()), kDecayExponent);  // 1 − β2
  const auto factored = factored_dimensions(squares.sizes().slice(1));
  if (!factored) {
    const auto v = averages(moving, "square");
    at::_foreach_lerp_(v, squares.unbind(0), fresh);
    at::stack_out(squares, v).rsqrt_();
    return;
  }
  const int64_t first = factored->first + 1, second = factored->second + 1;  // in the stack
  const auto rows = averages(moving, "row"), columns = averages(moving, "column");
  at::_foreach_lerp_(rows, squares.mean(second).unbind(0), fresh);
  at::_foreach_lerp_(columns, squares.mean(first).unbind(0), fresh);
  const auto r = at::stack(rows), c = at::stack(columns);
  at::mul_out(squares, (r / r.mean(first, /*keepdim=*/true)).rsqrt_().unsqueeze(second),
              c.rsqrt().unsqueeze(first));
}

}  // namespace convseq
