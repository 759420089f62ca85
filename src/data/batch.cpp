#include "data/batch.h"

#include <algorithm>
#include <numeric>

#include "text/sentinels.h"

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

}  // namespace

double Batch::padding_share() const {
  const size_t places = source.size() + target.size();
  if (places == 0) return 0;
  const int64_t used = std::accumulate(source_lengths.begin(), source_lengths.end(), int64_t{0}) +
                       std::accumulate(target_lengths.begin(), target_lengths.end(), int64_t{0});
  return 1.0 - static_cast<double>(used) / static_cast<double>(places);
}

Batch make_batch(std::span<const Example> examples, ExampleLengths at_least) {
  Side source = lay_out(examples, &Example::source, at_least.source);
  Side target = lay_out(examples, &Example::target, at_least.target);
  return {.rows = static_cast<int64_t>(examples.size()),
          .source_width = source.width,
          .target_width = target.width,
          .source = std::move(source.ids),
          .source_lengths = std::move(source.lengths),
          .target = std::move(target.ids),
          .target_lengths = std::move(target.lengths)};
}

}  // namespace convseq
