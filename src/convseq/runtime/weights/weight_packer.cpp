#include "convseq/runtime/weights/weight_packer.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "convseq/base/checksum.h"

namespace convseq {

uint32_t packing_checksum(const WeightPackerOptions& options) {
  // Odd sizes, so that panels are padded.
  const kernels::PackedMatrixShape shape{
      .outputs = 67, .inputs = 131, .type = options.type, .level = options.level};
  std::vector<float> weights(static_cast<size_t>(shape.outputs * shape.inputs));
  for (size_t i = 0; i < weights.size(); ++i) {
    weights[i] = static_cast<float>(i * 7919 % 257) / 16 - 8;
  }
  std::vector<std::byte> packed(static_cast<size_t>(kernels::packed_bytes(shape)));
  kernels::pack_matrix(shape, weights.data(), packed.data());
  return crc32_of(packed);
}

WeightPacker::WeightPacker(const StoredWeights& stored, const WeightPackerOptions& options)
    : stored_(stored), options_(options) {}

void WeightPacker::matrix(const std::vector<std::string>& names, kernels::PackedMatrix& matrix) {
  kernels::PackedMatrixShape shape{.type = options_.type, .level = options_.level};
  for (const std::string& name : names) {
    const StoredTensor tensor = stored_.tensor(name);
    shape.outputs += tensor.rows();
    shape.inputs = tensor.row_values();
  }
  require(shape.type != kernels::WeightType::Int8 || shape.inputs <= kernels::kMostInt8Inputs,
          "{}: a matrix of {} inputs is too wide for int8; use bf16 or fp32", names.front(),
          shape.inputs);
  matrix.shape = shape;
  parts_.push_back({.bytes = static_cast<size_t>(kernels::packed_bytes(shape)),
                    .pack = [=, this](std::byte* to) { pack(names, shape, to); },
                    .use = [&matrix](const std::byte* at) { matrix.data = at; }});
}

void WeightPacker::pack(const std::vector<std::string>& names,
                        const kernels::PackedMatrixShape& shape, std::byte* to) const {
  std::vector<StoredTensor> tensors;
  for (const std::string& name : names) tensors.push_back(stored_.tensor(name));
  const bool all_int8 = std::all_of(tensors.begin(), tensors.end(),
                                    [](const StoredTensor& each) { return each.is_int8(); });
  if (all_int8 && shape.type == kernels::WeightType::Int8) {
    std::vector<int8_t> rows;
    std::vector<float> scales;
    for (const StoredTensor& each : tensors) {
      const auto* first = reinterpret_cast<const int8_t*>(each.view.bytes.data());
      rows.insert(rows.end(), first, first + each.view.bytes.size());
      scales.insert(scales.end(), each.scales.begin(), each.scales.end());
    }
    kernels::pack_matrix(shape, rows.data(), scales.data(), to);
    return;
  }
  std::vector<float> rows;
  for (const std::string& name : names) {
    const auto values = stored_.values(name);
    rows.insert(rows.end(), values.begin(), values.end());
  }
  kernels::pack_matrix(shape, rows.data(), to);
}

void WeightPacker::tensor(const std::string& name, const float*& values) {
  const StoredTensor stored = stored_.tensor(name);
  computed(
      stored.rows() * stored.row_values(), [=, this] { return stored_.values(name); }, values);
}

void WeightPacker::computed(int64_t count, Values compute, const float*& values) {
  const size_t bytes = static_cast<size_t>(count) * sizeof(float);
  parts_.push_back(
      {.bytes = bytes,
       .pack = [=, compute = std::move(compute)](
                   std::byte* to) { std::memcpy(to, compute().data(), bytes); },
       .use = [&values](const std::byte* at) { values = reinterpret_cast<const float*>(at); }});
}

void WeightPacker::check(const std::string& name) {
  parts_.push_back({.bytes = 0,
                    .pack = [=, this](std::byte*) { stored_.values(name); },
                    .use = [](const std::byte*) {}});
}

}  // namespace convseq
