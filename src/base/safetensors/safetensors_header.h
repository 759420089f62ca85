#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "convseq/base/safetensors/tensor_type.h"

namespace convseq {

inline constexpr std::string_view kMetadataKey = "__metadata__";

// One tensor as the header tells of it: bytes [begin, end) of the buffer that follows the header.
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

// Reads a header's JSON. Whether the entries fit one another and the buffer is not asked here.
SafetensorsHeader parse_safetensors_header(std::string_view text, const std::string& origin);

}  // namespace convseq
