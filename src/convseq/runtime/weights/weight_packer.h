#pragma once

#include <functional>
#include <string>
#include <vector>

#include "convseq/kernels/packed_matmul.h"
#include "convseq/runtime/weights/packed_weights.h"
#include "convseq/runtime/weights/stored_weights.h"

namespace convseq {

struct WeightPackerOptions {
  kernels::WeightType type = kernels::WeightType::Fp32;  // of the matrices
  kernels::CpuLevel level{};
};

// A checksum of a small packed matrix: it changes with the layout and with how weights are rounded.
uint32_t packing_checksum(const WeightPackerOptions& options);

// Collects the weights that a model computes with, in the order in which they are packed. What is
// passed by pointer is set once the weights have their place, so it must not move until then.
class WeightPacker {
 public:
  using Values = std::function<std::vector<float>()>;

  // `stored` must outlive the packer and its parts.
  WeightPacker(const StoredWeights& stored, const WeightPackerOptions& options);

  const ModelConfig& config() const { return stored_.config(); }
  const WeightPackerOptions& options() const { return options_; }

  // One matrix with the rows of all these tensors.
  void matrix(const std::vector<std::string>& names, kernels::PackedMatrix& matrix);
  // The fp32 values of a tensor.
  void tensor(const std::string& name, const float*& values);
  // `count` fp32 values that are computed from tensors: compute() is called when they are packed.
  void computed(int64_t count, Values compute, const float*& values);
  // Refuses a tensor that is not finite, when the others are packed.
  void check(const std::string& name);
  std::vector<float> values(const std::string& name) const { return stored_.values(name); }

  const std::vector<PackedPart>& parts() const { return parts_; }

 private:
  void pack(const std::vector<std::string>& names, const kernels::PackedMatrixShape& shape,
            std::byte* to) const;

  const StoredWeights& stored_;
  WeightPackerOptions options_;
  std::vector<PackedPart> parts_;
};

}  // namespace convseq
