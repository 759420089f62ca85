#pragma once

#include <span>
#include <vector>

#include "convseq/data/batch.h"

namespace convseq {

struct ShapeLadderOptions {
  int64_t max_shapes = 12;
  double max_padding =
      0.1;  // that the ladder adds, of all positions; more where max_shapes asks it
};

// The few shapes that the batches of a task are padded up to, so that a step need be captured only
// once for each of them. All have the most rows; the widths are chosen from the widths that occur:
// the fewest that add at most `max_padding`.
class ShapeLadder {
 public:
  ShapeLadder() = default;  // without shapes: pads nothing
  ShapeLadder(std::span<const BatchShape> batches, const ShapeLadderOptions& options);

  BatchShape fit(const BatchShape& shape) const;  // the smallest that holds it; itself if none does
  int64_t shapes() const { return std::ssize(sources_) * std::ssize(targets_); }
  double padding_share() const { return padding_share_; }  // added to `batches`, of all positions

 private:
  int64_t rows_ = 0;
  std::vector<int64_t> sources_, targets_;  // ascending
  double padding_share_ = 0;
};

}  // namespace convseq
