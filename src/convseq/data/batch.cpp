#include "convseq/data/batch.h"

#include <algorithm>
#include <numeric>

#include "convseq/base/error.h"
#include "convseq/text/sentinels.h"

namespace convseq {
namespace {

struct Side {
  int64_t width = 0;
  std::vector<int64_t> ids;
  std::vector<int64_t> lengths;
};

Side lay_out(std::span<const Example> examples, std::vector<int32_t> Example::*side,
             int64_t width) {
  Side out;
  for (const Example& example : examples) {
    out.lengths.push_back(static_cast<int64_t>((example.*side).size()));
    width = std::max(width, out.lengths.back());
  }
  out.width = width;
  out.ids.reserve(examples.size() * static_cast<size_t>(width));
  for (const Example& example : examples) {
    const std::vector<int32_t>& ids = example.*side;
    out.ids.insert(out.ids.end(), ids.begin(), ids.end());
    out.ids.insert(out.ids.end(), static_cast<size_t>(width) - ids.size(), Vocabulary::kPad);
  }
  return out;
}

std::vector<int64_t> widened(const std::vector<int64_t>& ids, int64_t width, const BatchShape& to,
                             int64_t to_width) {
  std::vector<int64_t> out(static_cast<size_t>(to.rows * to_width), Vocabulary::kPad);
  if (ids.empty()) return out;
  for (auto [from, row] = std::pair(ids.begin(), out.begin()); from != ids.end();
       from += width, row += to_width) {
    std::copy(from, from + width, row);
  }
  return out;
}

}  // namespace

int64_t Batch::source_tokens() const {
  return std::accumulate(source_lengths.begin(), source_lengths.end(), -padding_rows);
}

int64_t Batch::target_tokens() const {
  return std::accumulate(target_lengths.begin(), target_lengths.end(), int64_t{0});
}

double Batch::target_weight() const {
  if (weights.empty()) return static_cast<double>(target_tokens());
  return std::inner_product(weights.begin(), weights.end(), target_lengths.begin(), 0.0);
}

double Batch::padding_share() const {
  const size_t places = source.size() + target.size();
  if (places == 0) return 0;
  const int64_t used = source_tokens() + target_tokens();
  return 1.0 - static_cast<double>(used) / static_cast<double>(places);
}

Batch make_batch(std::span<const Example> examples, ExampleLengths at_least) {
  Side source = lay_out(examples, &Example::source, at_least.source);
  Side target = lay_out(examples, &Example::target, at_least.target);
  Batch batch{.rows = static_cast<int64_t>(examples.size()),
              .source_width = source.width,
              .target_width = target.width,
              .source = std::move(source.ids),
              .source_lengths = std::move(source.lengths),
              .target = std::move(target.ids),
              .target_lengths = std::move(target.lengths),
              .weights = {}};
  const auto is_weighted = [](const Example& example) { return example.weight != 1; };
  if (std::any_of(examples.begin(), examples.end(), is_weighted)) {
    for (const Example& example : examples) batch.weights.push_back(example.weight);
  }
  return batch;
}

Batch padded(const Batch& batch, const BatchShape& shape) {
  require(shape.rows >= batch.rows && shape.source >= batch.source_width &&
              shape.target >= batch.target_width,
          "a batch of {} × ({} + {}) cannot be padded to {} × ({} + {})", batch.rows,
          batch.source_width, batch.target_width, shape.rows, shape.source, shape.target);
  const auto rows = static_cast<size_t>(shape.rows);
  Batch out{.rows = shape.rows,
            .source_width = shape.source,
            .target_width = shape.target,
            .source = widened(batch.source, batch.source_width, shape, shape.source),
            .source_lengths = batch.source_lengths,
            .target = widened(batch.target, batch.target_width, shape, shape.target),
            .target_lengths = batch.target_lengths,
            .weights = batch.weights,
            .padding_rows = batch.padding_rows + shape.rows - batch.rows,
            .explicit_lengths = true};
  if (out.weights.empty()) out.weights.assign(static_cast<size_t>(batch.rows), 1);
  out.source_lengths.resize(rows, 1);  // attention needs a position to look at
  out.target_lengths.resize(rows, 0);
  out.weights.resize(rows, 0);
  return out;
}

std::vector<Batch> cut_batch(const Batch& batch, int64_t rows) {
  if (rows <= 0 || rows >= batch.rows) return {batch};
  std::vector<Batch> parts;
  for (int64_t begin = 0; begin < batch.rows; begin += rows) {
    const int64_t end = std::min(begin + rows, batch.rows);
    const auto slice = [&]<class T>(const std::vector<T>& all, int64_t width) {
      if (all.empty()) return all;
      return std::vector<T>(all.begin() + begin * width, all.begin() + end * width);
    };
    parts.push_back({.rows = end - begin,
                     .source_width = batch.source_width,
                     .target_width = batch.target_width,
                     .source = slice(batch.source, batch.source_width),
                     .source_lengths = slice(batch.source_lengths, 1),
                     .target = slice(batch.target, batch.target_width),
                     .target_lengths = slice(batch.target_lengths, 1),
                     .weights = slice(batch.weights, 1),
                     .padding_rows = std::clamp<int64_t>(end - (batch.rows - batch.padding_rows), 0,
                                                         end - begin),
                     .explicit_lengths = batch.explicit_lengths});
  }
  return parts;
}

}  // namespace convseq
