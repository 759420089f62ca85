#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "convseq/base/enum_names.h"

namespace convseq {

// How a model folder stores the matrices of its linear layers and its token embedding. All other
// tensors are fp32.
enum class MatrixType { Int8, Bf16 };
template <>
inline constexpr auto kEnumNames<MatrixType> =
    std::to_array<EnumName<MatrixType>>({{MatrixType::Int8, "int8"}, {MatrixType::Bf16, "bf16"}});

// An int8 matrix w[i][j] ≈ values[i][j] · scales[i], symmetric per output row:
// scales[i] = max |w[i]| / 127. In a file it is the I8 tensor NAME [outputs, inputs] and the F32
// tensor NAME.scale [outputs].
struct Int8Matrix {
  std::vector<int8_t> values;  // -127 to 127
  std::vector<float> scales;
};

// Rounds to the nearest value, ties to even. The values must be finite.
Int8Matrix quantize_rows(std::span<const float> matrix, int64_t columns);

// Whether quantize_model() stores this parameter in the MatrixType. Position embeddings, the
// relative position bias and the classifier are small and stay in fp32.
bool is_quantized(const std::string& name, const std::vector<int64_t>& shape);

// The bytes of the model's files.
struct QuantizedSize {
  int64_t before = 0, after = 0;
};

// Writes the model of `folder` to `out`, with its matrices in another type and with all its other
// files. Refuses weights that are not those of its config.json, are int8, or are not finite. `out`
// is written atomically and replaces a folder of this name. `before_tensor` may throw to stop.
QuantizedSize quantize_model(
    const std::filesystem::path& folder, const std::filesystem::path& out, MatrixType type,
    const std::function<void()>& before_tensor = [] {});

}  // namespace convseq
