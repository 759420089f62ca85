#pragma once

#include "convseq/data/batch.h"
#include "convseq/data/corpus/shuffled_segments.h"
#include "convseq/data/corpus/stream_cursor.h"
#include "convseq/data/objective/objective.h"
#include "convseq/data/prefetcher.h"
#include "convseq/data/rank_rows.h"
#include "convseq/text/tokenizer.h"

namespace convseq {

struct CorpusShare {
  std::string corpus;   // a folder of token shards, or raw text as expand_corpus() takes it
  double weight = 1.0;  // in proportion to those of the other corpora
};

struct CorpusStreamOptions {
  std::vector<CorpusShare> corpora;
  int64_t batch_rows = 128;          // of the global batch, over all ranks
  ExampleLengths room = {512, 114};  // maximum lengths of an example
  uint64_t seed = 0;
  Rank rank = {};
  size_t threads = 1;             // for tokenizing raw text, and as many for making examples
  size_t batches_ahead = 4;       // capacity of the queue
  BadLines* bad_lines = nullptr;  // of raw text; null: a bad line is an Error
};

struct StreamBatch {
  Batch batch;         // this rank's rows of the global batch
  StreamCursor after;  // the position after this batch
};

// An endless stream of pre-training batches. Each segment is drawn from one of the corpora, by
// weight, and the objective makes an example of it with random numbers keyed by its cursor in the
// corpus. Global batch n is a function of (options, cursor), independent of ranks and threads.
class CorpusStream {
 public:
  CorpusStream(const Tokenizer& tokenizer, std::shared_ptr<const Objective> objective,
               CorpusStreamOptions options, const StreamCursor& start = {});

  StreamBatch next();
  int64_t segment_length() const { return segment_length_; }

 private:
  struct Draft {  // the segments of a batch, before the objective
    std::vector<int32_t> ids;
    std::vector<size_t> ends;
    std::vector<Random> randoms;
    StreamCursor after;
  };
  std::unique_ptr<SegmentGroups> open(const std::string& corpus, const Tokenizer& tokenizer) const;
  uint32_t fingerprint() const;
  size_t choose_corpus() const;
  std::optional<Draft> draw();
  StreamBatch make(Draft draft) const;

  const CorpusStreamOptions options_;
  const std::shared_ptr<const Objective> objective_;
  const int64_t segment_length_;
  std::vector<ShuffledSegments> corpora_;
  StreamCursor cursor_;
  std::optional<Prefetcher<Draft, StreamBatch>> batches_;  // last: its threads use the others
};

}  // namespace convseq
