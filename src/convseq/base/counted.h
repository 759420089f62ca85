#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>

namespace convseq {

// "1 shard", "2 shards"
inline std::string counted(int64_t count, const std::string& noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

}  // namespace convseq
