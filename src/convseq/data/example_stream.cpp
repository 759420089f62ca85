#include "convseq/data/example_stream.h"

#include <algorithm>

#include "convseq/base/error.h"

namespace convseq {

Json ExampleCursor::to_json() const {
  Json json = {{"epoch", epoch}, {"batch", batch}};
  if (version > 1) json["version"] = version;
  return json;
}

ExampleCursor ExampleCursor::from_json(const JsonObject& json) {
  const ExampleCursor cursor{.epoch = json.get<int64_t>("epoch"),
                             .batch = json.get<int64_t>("batch"),
                             .version = json.get_or<int64_t>("version", 1)};
  if (cursor.version < 1 || cursor.version > kVersion) {
    json.refuse("version", "is {}; this program reads up to {}", cursor.version, kVersion);
  }
  return cursor;
}

ExampleStream::ExampleStream(std::vector<Example> examples, const ExampleStreamOptions& options,
                             ExampleCursor start)
    : examples_(std::move(examples)), options_(options), cursor_(start) {
  options_.plan.unkeyed = start.version == 1;
  require(!examples_.empty(), "there are no training examples");
  for (const Example& example : examples_) {
    lengths_.push_back({std::ssize(example.source), std::ssize(example.target)});
  }
  plan_epoch();
  require(cursor_.batch >= 0 && cursor_.batch < batches(),
          "the cursor is at batch {} of an epoch of {}: it was saved for other examples",
          cursor_.batch, batches());
}

void ExampleStream::plan_epoch() { plan_.emplace(lengths_, options_.plan, cursor_.epoch); }

std::vector<BatchShape> ExampleStream::first_shapes() const {
  std::vector<BatchShape> shapes;
  const BatchPlan plan(lengths_, options_.plan, /*epoch=*/0);
  for (const std::vector<int64_t>& batch : plan.batches()) {
    const RankRows mine = rows_of(options_.rank, std::ssize(batch));
    BatchShape shape{.rows = mine.end - mine.begin};
    for (int64_t row = mine.begin; row < mine.end; ++row) {
      const auto& each = lengths_[static_cast<size_t>(batch[static_cast<size_t>(row)])];
      shape.source = std::max(shape.source, each.source);
      shape.target = std::max(shape.target, each.target);
    }
    shapes.push_back(shape);
  }
  return shapes;
}

ExampleBatch ExampleStream::next() {
  const std::vector<int64_t>& global = plan_->batches()[static_cast<size_t>(cursor_.batch)];
  const RankRows mine = rows_of(options_.rank, std::ssize(global));
  ExampleBatch out;
  out.examples.assign(global.begin() + mine.begin, global.begin() + mine.end);
  std::vector<Example> rows;
  for (const int64_t number : out.examples) rows.push_back(examples_[static_cast<size_t>(number)]);
  out.batch = make_batch(rows);
  if (++cursor_.batch == batches()) {
    cursor_ = {.epoch = cursor_.epoch + 1, .version = cursor_.version};
    plan_epoch();
  }
  out.after = cursor_;
  return out;
}

}  // namespace convseq
