#pragma once

#include "convseq/data/example_stream.h"
#include "convseq/data/prefetcher.h"

namespace convseq {

// The batches of an ExampleStream, made on a thread of their own while the steps before them run.
// The cursor of each batch is that of the stream, however far ahead the thread is.
class ExamplePrefetcher {
 public:
  // The plan of the next epoch takes as long as several steps: `ahead` batches hide it.
  explicit ExamplePrefetcher(ExampleStream stream, size_t ahead = 16)
      : stream_(std::move(stream)),
        batches_(
            {.threads = 1, .capacity = ahead}, [this] { return std::optional(stream_.next()); },
            [](ExampleBatch batch) { return batch; }) {}

  ExampleBatch next() { return std::move(*batches_.next()); }

 private:
  ExampleStream stream_;
  Prefetcher<ExampleBatch, ExampleBatch> batches_;  // last: its thread uses the stream
};

}  // namespace convseq
