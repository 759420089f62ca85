#pragma once

#include <cstdint>
#include <vector>

namespace convseq {

// What a model learns from: both sides as ids, each closed by an EOS.
struct Example {
  std::vector<int32_t> source;
  std::vector<int32_t> target;
  double weight = 1;  // in the loss, against that of the others
};

}  // namespace convseq
