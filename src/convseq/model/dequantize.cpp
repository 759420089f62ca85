#include "convseq/model/dequantize.h"

#include <torch/types.h>
#include <torch/utils.h>

#include <cmath>

#include "convseq/base/error.h"
#include "convseq/spec/parameter_list.h"

namespace convseq {
namespace {

void check_scales(const std::string& name, const torch::Tensor& matrix, const torch::Tensor& scales,
                  const std::string& origin) {
  require(scales.scalar_type() == torch::kFloat32, "{}: tensor {} is not of type F32", origin,
          scale_name(name));
  require(scales.sizes().vec() == std::vector<int64_t>{matrix.size(0)},
          "{}: tensor {} has shape [{}]; {} of shape [{}] needs [{}]", origin, scale_name(name),
          fmt::join(scales.sizes().vec(), ", "), name, fmt::join(matrix.sizes().vec(), ", "),
          matrix.size(0));
  if (scales.numel() == 0) return;
  const auto [least, most] = at::aminmax(scales);  // NaN if any value is NaN
  require(least.item<float>() >= 0 && std::isfinite(most.item<float>()),
          "{}: tensor {} holds values that are negative or not finite; use another copy of the "
          "file",
          origin, scale_name(name));
}

}  // namespace

void dequantize(TensorMap& tensors, const std::string& origin) {
  const torch::NoGradGuard no_grad;
  for (auto& [name, tensor] : tensors) {
    if (tensor.scalar_type() != torch::kInt8) continue;
    require(tensor.dim() == 2, "{}: tensor {} is int8 and has shape [{}]; only matrices are int8",
            origin, name, fmt::join(tensor.sizes().vec(), ", "));
    const auto scales = tensors.find(scale_name(name));
    require(scales != tensors.end(), "{}: tensor {} is int8, but its scales {} are missing", origin,
            name, scale_name(name));
    check_scales(name, tensor, scales->second, origin);
    tensor = tensor.to(torch::kFloat32).mul_(scales->second.unsqueeze(1));
    tensors.erase(scales);  // another element than the one at hand
  }
}

}  // namespace convseq
