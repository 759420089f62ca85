#pragma once

#include <cstdint>
#include <vector>

namespace convseq {

// What a model learns from: both sides as ids, each closed by an EOS.
struct Example {
  std::vector<int32_t> source;
  std::vector<int32_t> target;
};

}  // namespace convseq
