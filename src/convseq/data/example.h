#pragma once

#include <cstdint>
#include <vector>

namespace convseq {

// What a model learns from: both sides as ids, each closed by an EOS.
struct Example {
  std::vector<int32_t> source;
  std::vector<int32_t> target;
  double weight = 1;  // of this example in the loss, relative to the others
};

struct ExampleLengths {
  int64_t source = 0;
  int64_t target = 0;
  bool operator==(const ExampleLengths&) const = default;
};

}  // namespace convseq
