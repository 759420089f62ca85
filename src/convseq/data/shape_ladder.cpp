#include "convseq/data/shape_ladder.h"

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <optional>

namespace convseq {
namespace {

// The best choice of 1, 2, … widths from those that occur, by the columns that padding adds.
class WidthChoices {
 public:
  WidthChoices(const std::map<int64_t, int64_t>& counts, int64_t most) {
    int64_t batches = 0, columns = 0;
    for (const auto& [width, count] : counts) {
      widths_.push_back(width);
      batches_.push_back(batches);
      columns_.push_back(columns);
      batches += count;
      columns += count * width;
    }
    const int64_t n = std::ssize(widths_);
    most = std::clamp<int64_t>(most, 1, n);
    // added_[k][i]: of the first i + 1 widths, covered by k + 1 chosen ones, the i-th among them.
    added_.assign(static_cast<size_t>(most), std::vector<int64_t>(static_cast<size_t>(n), kNever));
    before_.assign(static_cast<size_t>(most), std::vector<int64_t>(static_cast<size_t>(n), -1));
    for (int64_t i = 0; i < n; ++i) at(added_, 0, i) = to_reach(0, i);
    for (int64_t k = 1; k < most; ++k) {
      for (int64_t i = k; i < n; ++i) {
        for (int64_t j = k - 1; j < i; ++j) {
          const int64_t added = at(added_, k - 1, j) + to_reach(j + 1, i);
          if (added >= at(added_, k, i)) continue;
          at(added_, k, i) = added;
          at(before_, k, i) = j;
        }
      }
    }
  }

  int64_t most() const { return std::ssize(added_); }
  int64_t added(int64_t count) const { return at(added_, count - 1, std::ssize(widths_) - 1); }

  std::vector<int64_t> chosen(int64_t count) const {
    std::vector<int64_t> widths;
    int64_t i = std::ssize(widths_) - 1;
    for (int64_t k = count - 1; k >= 0; i = at(before_, k, i), --k) {
      widths.push_back(widths_[static_cast<size_t>(i)]);
    }
    return {widths.rbegin(), widths.rend()};
  }

 private:
  using Table = std::vector<std::vector<int64_t>>;
  static constexpr int64_t kNever = std::numeric_limits<int64_t>::max() / 4;

  static int64_t& at(Table& table, int64_t k, int64_t i) {
    return table[static_cast<size_t>(k)][static_cast<size_t>(i)];
  }
  static int64_t at(const Table& table, int64_t k, int64_t i) {
    return table[static_cast<size_t>(k)][static_cast<size_t>(i)];
  }

  // Columns added where widths first … last are all padded to the last.
  int64_t to_reach(int64_t first, int64_t last) const {
    const auto [from, to] = std::pair(static_cast<size_t>(first), static_cast<size_t>(last));
    return (batches_[to] - batches_[from]) * widths_[to] - (columns_[to] - columns_[from]);
  }

  std::vector<int64_t> widths_;             // ascending
  std::vector<int64_t> batches_, columns_;  // of all narrower widths
  Table added_, before_;
};

// The smallest of `widths` that is at least `width`.
std::optional<int64_t> at_least(const std::vector<int64_t>& widths, int64_t width) {
  const auto found = std::lower_bound(widths.begin(), widths.end(), width);
  return found == widths.end() ? std::nullopt : std::optional(*found);
}

}  // namespace

ShapeLadder::ShapeLadder(std::span<const BatchShape> batches, const ShapeLadderOptions& options) {
  std::map<int64_t, int64_t> sources, targets;
  int64_t columns = 0;
  for (const BatchShape& batch : batches) {
    rows_ = std::max(rows_, batch.rows);
    ++sources[batch.source];
    ++targets[batch.target];
    columns += batch.source + batch.target;
  }
  if (batches.empty()) return;
  const WidthChoices source(sources, options.max_shapes), target(targets, options.max_shapes);
  const auto wanted = static_cast<int64_t>(options.max_padding *
                                           static_cast<double>(std::max<int64_t>(columns, 1)));
  // The fewest shapes that add little enough, else those that add least.
  using Rank = std::array<int64_t, 3>;
  struct Choice {
    Rank rank{std::numeric_limits<int64_t>::max()};
    int64_t sources = 1, targets = 1, added = 0;
  } best;
  for (int64_t s = 1; s <= source.most(); ++s) {
    for (int64_t t = 1; t <= target.most() && (s * t <= options.max_shapes || s * t == 1); ++t) {
      const int64_t added = source.added(s) + target.added(t);
      const Rank rank = added <= wanted ? Rank{0, s * t, added} : Rank{1, added, s * t};
      if (rank < best.rank) best = {rank, s, t, added};
    }
  }
  sources_ = source.chosen(best.sources);
  targets_ = target.chosen(best.targets);
  padding_share_ = static_cast<double>(best.added) /
                   static_cast<double>(std::max<int64_t>(columns + best.added, 1));
}

BatchShape ShapeLadder::fit(const BatchShape& shape) const {
  const auto source = at_least(sources_, shape.source), target = at_least(targets_, shape.target);
  if (!source || !target || shape.rows > rows_) return shape;
  return {rows_, *source, *target};
}

}  // namespace convseq
