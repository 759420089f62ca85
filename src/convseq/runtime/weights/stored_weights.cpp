#include "convseq/runtime/weights/stored_weights.h"

#include <sys/stat.h>

#include <algorithm>
#include <cmath>

#include "convseq/base/checksum.h"
#include "convseq/base/error.h"
#include "convseq/runtime/weights/tensor_values.h"
#include "convseq/spec/model_files.h"
#include "convseq/spec/parameter_list.h"

namespace convseq {
namespace fs = std::filesystem;
namespace {

bool is_number(TensorType type) {
  return type == TensorType::F32 || type == TensorType::BF16 || type == TensorType::F16 ||
         type == TensorType::F64 || type == TensorType::I8;
}

}  // namespace

int64_t StoredTensor::row_values() const {
  int64_t count = 1;
  for (size_t i = 1; i < view.shape.size(); ++i) count *= view.shape[i];
  return count;
}

void StoredTensor::copy_row(int64_t row, float* to) const {
  const int64_t count = row_values();
  to_fp32(view.type, view.bytes.data() + row * count * byte_size(view.type), count, to);
  if (!is_int8()) return;
  const float scale = scales[static_cast<size_t>(row)];
  for (int64_t i = 0; i < count; ++i) to[i] *= scale;
}

StoredWeights::StoredWeights(const fs::path& folder) : path_(folder / kWeightsFile) {
  require(fs::is_directory(folder), "{}: no such model folder", folder.string());
  config_ = ModelConfig::load(folder / kConfigFile);
  stamp_ = stamp_of(path_);
  file_ = SafetensorsFile::open(path_);
  check();
}

void StoredWeights::check() const {
  const std::string origin = path_.string();
  check_weights(config_, *file_, origin);
  const auto& found = file_->tensors();
  for (const auto& [name, shape] : list_parameters(config_)) {
    const TensorType type = found.at(name).type;
    require(is_number(type), "{}: tensor {} is of type {}; allowed: F32, BF16, F16, F64, I8",
            origin, name, name_of(type));
    if (type != TensorType::I8) continue;
    const auto scale = found.find(scale_name(name));
    require(scale != found.end(), "{}: tensor {} is int8, but tensor {} is missing", origin, name,
            scale_name(name));
    require(scale->second.type == TensorType::F32 &&
                scale->second.shape == std::vector<int64_t>{shape.front()},
            "{}: tensor {} is {} [{}]; tensor {} wants F32 [{}]", origin, scale->first,
            name_of(scale->second.type), fmt::join(scale->second.shape, ", "), name, shape.front());
  }
}

StoredTensor StoredWeights::tensor(const std::string& name) const {
  StoredTensor tensor{.name = name, .view = file_->tensors().at(name), .scales = {}};
  if (!tensor.is_int8()) return tensor;
  tensor.scales.resize(static_cast<size_t>(tensor.rows()));
  const TensorView& scale = file_->tensors().at(scale_name(name));
  to_fp32(TensorType::F32, scale.bytes.data(), tensor.rows(), tensor.scales.data());
  check_finite({.name = scale_name(name), .view = scale, .scales = {}}, tensor.scales);
  for (const float each : tensor.scales) {
    require(each >= 0, "{}: tensor {} has a scale of {}; allowed: 0 and above", path_.string(),
            scale_name(name), each);
  }
  return tensor;
}

std::vector<float> StoredWeights::values(const std::string& name) const {
  const StoredTensor stored = tensor(name);
  const int64_t width = stored.row_values();
  std::vector<float> values(static_cast<size_t>(stored.rows() * width));
  for (int64_t row = 0; row < stored.rows(); ++row) {
    stored.copy_row(row, values.data() + row * width);
  }
  check_finite(stored, values);
  return values;
}

void StoredWeights::check_finite(const StoredTensor& tensor,
                                 const std::vector<float>& values) const {
  const auto bad =
      std::count_if(values.begin(), values.end(), [](float each) { return !std::isfinite(each); });
  require(bad == 0,
          "{}: tensor {} holds values that are not finite ({} of {}); use another copy of the file",
          path_.string(), tensor.name, bad, values.size());
}

std::string StoredWeights::fingerprint() const {
  constexpr size_t kSample = 4096;  // bytes of each tensor: training changes all of it
  std::vector<uint32_t> sums;
  for (const auto& [name, view] : file_->tensors()) {
    sums.push_back(crc32_of(name));
    sums.push_back(crc32_of(view.bytes.first(std::min(view.bytes.size(), kSample))));
  }
  require(stamp_.has_value(), "{}: cannot be read", path_.string());
  // Archives and container images keep whole seconds.
  return fmt::format("{} {} {:08x} {:08x}", stamp_->bytes, stamp_->seconds,
                     crc32_of(std::as_bytes(std::span(sums))), crc32_of(config_.to_json().dump()));
}

std::optional<StoredWeights::Stamp> StoredWeights::stamp_of(const fs::path& file) {
  struct stat status {};
  if (::stat(file.c_str(), &status) != 0) return std::nullopt;
  return Stamp{.inode = status.st_ino,
               .bytes = status.st_size,
               .seconds = status.st_mtim.tv_sec,
               .nanoseconds = status.st_mtim.tv_nsec};
}

void StoredWeights::require_unchanged() const {
  const std::optional<Stamp> now = stamp_of(path_);
  require(!now || !stamp_ || now->inode != stamp_->inode || now == stamp_,
          "{}: was overwritten while it was in use; start again", path_.string());
}

}  // namespace convseq
