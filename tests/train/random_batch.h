#pragma once

#include <torch/types.h>

#include "convseq/data/batch.h"

namespace convseq::testing {

struct RandomBatch {
  int64_t rows = 1;
  int64_t source = 1;
  int64_t target = 1;
  int64_t ids = 100;
};

// A batch of random ids from libtorch's generator, without padding.
inline Batch random_batch(const RandomBatch& shape) {
  const auto ids = [&](int64_t count) {
    const auto values =
        torch::randint(std::min<int64_t>(2, shape.ids - 1), shape.ids, {count}, torch::kInt64);
    return std::vector<int64_t>(values.data_ptr<int64_t>(), values.data_ptr<int64_t>() + count);
  };
  return {.rows = shape.rows,
          .source_width = shape.source,
          .target_width = shape.target,
          .source = ids(shape.rows * shape.source),
          .source_lengths = std::vector<int64_t>(shape.rows, shape.source),
          .target = ids(shape.rows * shape.target),
          .target_lengths = std::vector<int64_t>(shape.rows, shape.target),
          .weights = {}};
}

}  // namespace convseq::testing
