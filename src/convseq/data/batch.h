#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "convseq/data/example.h"

namespace convseq {

// Examples as a matrix of ids: rows of one width, padded with Vocabulary::kPad. The ids are 64-bit
// integers, so that a tensor of indices can use the memory as it is.
struct Batch {
  int64_t rows = 0;
  int64_t source_width = 0;
  int64_t target_width = 0;
  std::vector<int64_t> source;          // [rows, source_width]
  std::vector<int64_t> source_lengths;  // [rows]
  std::vector<int64_t> target;          // [rows, target_width]
  std::vector<int64_t> target_lengths;  // [rows]
  std::vector<double> weights;          // [rows]; empty: all 1

  int64_t source_tokens() const;  // without padding
  int64_t target_tokens() const;
  double target_weight() const;  // sum over target tokens: the divisor of a weighted loss
  double padding_share() const;  // of all positions in source and target; 0 for an empty batch
  bool operator==(const Batch&) const = default;
};

// The batch is as wide as its longest example, or `at_least`, so that batches can share one shape.
Batch make_batch(std::span<const Example> examples, ExampleLengths at_least = {});

// Splits a batch into micro-batches of at most `rows` rows each; 0: does not split it.
std::vector<Batch> cut_batch(const Batch& batch, int64_t rows);

}  // namespace convseq
