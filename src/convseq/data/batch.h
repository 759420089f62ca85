#pragma once

#include <compare>
#include <cstdint>
#include <span>
#include <vector>

#include "convseq/data/example.h"

namespace convseq {

struct BatchShape {
  int64_t rows = 0;
  int64_t source = 0;  // width
  int64_t target = 0;
  auto operator<=>(const BatchShape&) const = default;  // NOLINT(modernize-use-nullptr): not one

  int64_t positions() const { return rows * (source + target); }
};

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
  // The last so many rows are padding: one token of source, no target, weight 0.
  int64_t padding_rows = 0;
  bool explicit_lengths = false;  // the model is given lengths even where no row is padded

  BatchShape shape() const { return {rows, source_width, target_width}; }
  int64_t source_tokens() const;  // without padding
  int64_t target_tokens() const;
  double target_weight() const;  // sum over target tokens: the divisor of a weighted loss
  double padding_share() const;  // of all positions in source and target; 0 for an empty batch
  bool operator==(const Batch&) const = default;
};

// The batch is as wide as its longest example, or `at_least`, so that batches can share one shape.
Batch make_batch(std::span<const Example> examples, ExampleLengths at_least = {});

// The same batch with rows and columns of padding added up to `shape`, which must hold it. Its
// lengths and weights are explicit, so that all batches padded to one shape are computed alike.
Batch padded(const Batch& batch, const BatchShape& shape);

// Splits a batch into micro-batches of at most `rows` rows each; 0: does not split it.
std::vector<Batch> cut_batch(const Batch& batch, int64_t rows);

}  // namespace convseq
