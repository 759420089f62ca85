#include "convseq/data/batch_plan.h"

#include <algorithm>
#include <numeric>

#include "convseq/base/error.h"
#include "convseq/base/random.h"
#include "convseq/data/random_use.h"

namespace convseq {
namespace {

int64_t tokens_of(const ExampleLengths& lengths) { return lengths.source + lengths.target; }

ExampleLengths wider(const ExampleLengths& a, const ExampleLengths& b) {
  return {std::max(a.source, b.source), std::max(a.target, b.target)};
}

}  // namespace

BatchPlan::BatchPlan(std::span<const ExampleLengths> lengths, const BatchPlanOptions& options,
                     int64_t epoch) {
  require(options.tokens > 0, "the token budget per batch is {}; it must be at least 1",
          options.tokens);
  const auto length = [&](int64_t example) { return lengths[static_cast<size_t>(example)]; };

  std::vector<int64_t> order(lengths.size());
  std::iota(order.begin(), order.end(), 0);
  const auto number = static_cast<uint64_t>(epoch);
  Random random = options.unkeyed ? Random(options.seed, {number})
                                  : Random(options.seed, {kBatchOrder, number});
  random.shuffle(order);

  ExampleLengths width;
  const auto add = [&](int64_t example) {
    const ExampleLengths widened = wider(width, length(example));
    const int64_t rows = batches_.empty() ? 0 : std::ssize(batches_.back());
    const bool full = (rows + 1) * tokens_of(widened) > options.tokens ||
                      (options.max_rows > 0 && rows == options.max_rows);
    if (batches_.empty() || full) {
      batches_.emplace_back();
      width = {};
    }
    batches_.back().push_back(example);
    width = wider(width, length(example));
  };

  const int64_t pool_tokens = options.tokens * options.pool_batches;
  for (auto begin = order.begin(); begin != order.end();) {
    auto end = begin;
    for (int64_t tokens = 0; end != order.end() && tokens < pool_tokens; ++end) {
      tokens += tokens_of(length(*end));
    }
    std::stable_sort(begin, end, [&](int64_t a, int64_t b) {
      return tokens_of(length(a)) < tokens_of(length(b));
    });
    std::for_each(begin, end, add);
    begin = end;
  }
  random.shuffle(batches_);
}

}  // namespace convseq
