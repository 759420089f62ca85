#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "convseq/base/safetensors/tensor_type.h"

namespace convseq {

inline constexpr std::string_view kMetadataKey = "__metadata__";

// One tensor's entry in the header: bytes [begin, end) of the buffer that follows the header.
struct TensorEntry {
  TensorType type{};
  std::vector<int64_t> shape;
  uint64_t begin = 0;
  uint64_t end = 0;
};

struct SafetensorsHeader {
  std::map<std::string, TensorEntry> tensors;
  std::map<std::string, std::string> metadata;
};

// Parses the JSON of a header. Whether the entries fit together and fit the buffer is not checked.
SafetensorsHeader parse_safetensors_header(std::string_view text, const std::string& origin);

}  // namespace convseq
