#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>

namespace convseq {

// Counter-based random numbers (Philox 4x32-10, Salmon et al. 2011). The stream is a pure function
// of its key, so an example numbered n draws the same numbers whichever thread or process makes it:
//
//   Random random(seed, {epoch, example});
//   int64_t length = 1 + random.below(8);
class Random {
 public:
  explicit Random(uint64_t seed, std::initializer_list<uint64_t> key = {});

  uint32_t bits32();
  uint64_t bits64();
  uint64_t below(uint64_t bound);  // uniform in [0, bound), without bias; bound > 0
  double uniform();                // [0, 1), 53 bits
  double normal();                 // mean 0, variance 1

  template <class Range>
  void shuffle(Range& range) {
    for (size_t left = range.size(); left > 1; --left) {
      std::swap(range[left - 1], range[below(left)]);
    }
  }

 private:
  std::array<uint32_t, 2> key_;
  std::array<uint32_t, 4> counter_;
  std::array<uint32_t, 4> block_{};
  int used_ = 4;  // words of block_ already handed out
};

// The bijection itself, for kernels and tests.
std::array<uint32_t, 4> philox4x32(std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key);

}  // namespace convseq
