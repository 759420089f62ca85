#include "convseq/data/task/encoded_task_reader.h"

namespace convseq {
namespace {

constexpr size_t kBlockRows = 128;

PrefetcherOptions prefetching(size_t asked) {
  const size_t threads = prefetch_threads(asked);
  return {.threads = threads, .capacity = 4 * threads};
}

}  // namespace

EncodedTaskReader::EncodedTaskReader(const Task& task, const std::string& split,
                                     const Tokenizer& tokenizer,
                                     const EncodedTaskReaderOptions& options)
    : task_(task),
      tokenizer_(tokenizer),
      limit_(options.limit),
      reader_(task, split, options.reader),
      blocks_(
          prefetching(options.threads), [this] { return read_block(); },
          [this](Block block) { return encode(std::move(block)); }) {}

bool EncodedTaskReader::next(EncodedTaskExample& example) {
  if (taken_ == block_.examples.size()) {
    std::optional<Block> block = blocks_.next();
    if (!block) return false;
    block_ = std::move(*block);
    cut_ += block_.cut;
    taken_ = 0;
  }
  example = std::move(block_.examples[taken_++]);
  return true;
}

RowTotals EncodedTaskReader::totals() const {
  RowTotals totals = reader_.totals();
  return totals += cut_;
}

std::optional<EncodedTaskReader::Block> EncodedTaskReader::read_block() {
  if (error_) std::rethrow_exception(error_);
  Block block;
  try {
    for (TaskExample example; block.examples.size() < kBlockRows;) {
      if (limit_ > 0 && reader_.read() == limit_) break;
      if (!reader_.next(example)) break;
      block.examples.push_back({.text = std::move(example), .ids = {}});
    }
  } catch (...) {
    if (block.examples.empty()) throw;
    error_ = std::current_exception();  // after the examples before it
  }
  if (block.examples.empty()) return std::nullopt;
  return block;
}

EncodedTaskReader::Block EncodedTaskReader::encode(Block block) const {
  TaskEncoder encoder(task_, tokenizer_);
  for (EncodedTaskExample& example : block.examples) example.ids = encoder.encode(example.text);
  encoder.add_to(block.cut);
  return block;
}

}  // namespace convseq
