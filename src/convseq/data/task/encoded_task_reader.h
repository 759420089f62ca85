#pragma once

#include <optional>
#include <string>

#include "convseq/data/prefetcher.h"
#include "convseq/data/task/task_encoder.h"

namespace convseq {

struct EncodedTaskExample {
  TaskExample text;
  Example ids;  // both sides closed by an EOS
};

struct EncodedTaskReaderOptions {
  TaskReaderOptions reader = {};
  int64_t limit = 0;   // use only the first N examples; 0: all
  size_t threads = 0;  // 0: see prefetch_threads()
};

// The examples of one split of a task as text and as ids, tokenized on several threads. Order,
// totals and errors are those of a TaskReader and a TaskEncoder on one thread.
class EncodedTaskReader {
 public:
  EncodedTaskReader(const Task& task, const std::string& split, const Tokenizer& tokenizer,
                    const EncodedTaskReaderOptions& options = {});

  bool next(EncodedTaskExample& example);  // false at the end
  RowTotals totals() const;                // of the whole split: once next() has returned false

 private:
  struct Block {  // consecutive examples
    std::vector<EncodedTaskExample> examples;
    RowTotals cut;
  };
  std::optional<Block> read_block();
  Block encode(Block block) const;

  const Task task_;
  const Tokenizer& tokenizer_;
  const int64_t limit_;
  TaskReader reader_;
  std::exception_ptr error_;  // of the row after the last one read
  Block block_;               // the one that next() reads from
  size_t taken_ = 0;          // of its examples
  RowTotals cut_;
  Prefetcher<Block, Block> blocks_;  // last: its threads use the others
};

}  // namespace convseq
