#pragma once

#include <optional>

#include "convseq/data/example_stream.h"
#include "convseq/data/prefetcher.h"
#include "convseq/data/shape_ladder.h"

namespace convseq {

struct ExamplePrefetcherOptions {
  std::optional<ShapeLadderOptions> ladder = {};  // pads every batch to one of few shapes
  // The plan of the next epoch takes as long as several steps: this many batches hide it.
  size_t batches_ahead = 16;
};

// The batches of an ExampleStream, made on a thread of their own while the steps before them run.
// The cursor of each batch is that of the stream, however far ahead the thread is.
class ExamplePrefetcher {
 public:
  explicit ExamplePrefetcher(ExampleStream stream, const ExamplePrefetcherOptions& options = {})
      : stream_(std::move(stream)),
        ladder_(options.ladder ? ShapeLadder(stream_.first_shapes(), *options.ladder)
                               : ShapeLadder()),
        batches_(
            {.threads = 1, .capacity = options.batches_ahead}, [this] { return stream_.next(); },
            [this](ExampleBatch batch) { return fitted(std::move(batch)); }) {}

  ExampleBatch next() { return std::move(*batches_.next()); }
  const ShapeLadder& ladder() const { return ladder_; }  // without shapes if none was asked for

 private:
  ExampleBatch fitted(ExampleBatch batch) const {
    if (ladder_.shapes() > 0) {
      batch.batch = padded(batch.batch, ladder_.fit(batch.batch.shape()));
    }
    return batch;
  }

  ExampleStream stream_;
  const ShapeLadder ladder_;
  Prefetcher<ExampleBatch, ExampleBatch> batches_;  // last: its thread uses the others
};

}  // namespace convseq
