#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "convseq/spec/model_config.h"

namespace convseq {

// The shapes that batches are padded up to on a GPU, so that few are captured and each is replayed
// often.

inline int64_t padded_rows(int64_t rows) {  // powers of two
  return static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(rows)));
}

// Multiples of 16, and from 64 on of a quarter of the power of two below: at most a quarter of a
// wide batch is added.
inline int64_t padded_width(const ModelConfig& config, int64_t width) {
  const auto below = static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(width)));
  const int64_t unit = std::max<int64_t>(16, below / 4);
  const int64_t padded = (width + unit - 1) / unit * unit;
  if (config.positions != Positions::Learned) return padded;
  return std::max(width, std::min(padded, config.max_positions));
}

}  // namespace convseq
