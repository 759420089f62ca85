#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "convseq/data/example.h"
#include "convseq/data/objective/objective.h"

namespace convseq {

// Examples side by side: ids in rows of one width, filled up with Vocabulary::kPad. Plain 64-bit
// memory, the form in which a tensor of indices can take it over.
struct Batch {
  int64_t rows = 0;
  int64_t source_width = 0;
  int64_t target_width = 0;
  std::vector<int64_t> source;          // [rows, source_width]
  std::vector<int64_t> source_lengths;  // [rows]
  std::vector<int64_t> target;          // [rows, target_width]
  std::vector<int64_t> target_lengths;  // [rows]
  std::vector<double> weights;          // [rows]; none: all 1

  int64_t source_tokens() const;  // real ones
  int64_t target_tokens() const;
  double target_weight() const;  // of all real target tokens: what a weighted loss is divided by
  double padding_share() const;  // of all places in source and target; 0 for an empty batch
  bool operator==(const Batch&) const = default;
};

// As wide as the longest example, or `at_least`, for batches that must all have one shape.
Batch make_batch(std::span<const Example> examples, ExampleLengths at_least = {});

// Cut into micro-batches of at most `rows` rows each; 0: one whole.
std::vector<Batch> cut_batch(const Batch& batch, int64_t rows);

}  // namespace convseq
