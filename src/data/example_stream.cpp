#include "data/example_stream.h"

#include "base/error.h"

namespace convseq {

ExampleStream::ExampleStream(std::vector<Example> examples, const ExampleStreamOptions& options,
                             ExampleCursor start)
    : examples_(std::move(examples)), options_(options), cursor_(start) {
  require(!examples_.empty(), "there are no examples to learn from");
  for (const Example& example : examples_) {
    lengths_.push_back({std::ssize(example.source), std::ssize(example.target)});
  }
  plan_epoch();
  require(cursor_.batch >= 0 && cursor_.batch < batches(),
          "the cursor stands at batch {} of an epoch of {}: it was saved for other examples",
          cursor_.batch, batches());
}

void ExampleStream::plan_epoch() { plan_.emplace(lengths_, options_.plan, cursor_.epoch); }

ExampleBatch ExampleStream::next() {
  const std::vector<int64_t>& global = plan_->batches()[static_cast<size_t>(cursor_.batch)];
  const RankRows mine = rows_of(options_.rank, std::ssize(global));
  ExampleBatch out;
  out.examples.assign(global.begin() + mine.begin, global.begin() + mine.end);
  std::vector<Example> rows;
  for (const int64_t number : out.examples) rows.push_back(examples_[static_cast<size_t>(number)]);
  out.batch = make_batch(rows);
  if (++cursor_.batch == batches()) {
    cursor_ = {.epoch = cursor_.epoch + 1};
    plan_epoch();
  }
  out.after = cursor_;
  return out;
}

}  // namespace convseq
