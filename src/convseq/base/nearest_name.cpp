#include "convseq/base/nearest_name.h"

#include <algorithm>

namespace convseq {
namespace {

// Optimal string alignment distance: Levenshtein's, with swaps of neighbours as one edit.
size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<size_t>> cost(a.size() + 1, std::vector<size_t>(b.size() + 1));
  for (size_t i = 0; i <= a.size(); ++i) cost[i][0] = i;
  for (size_t j = 0; j <= b.size(); ++j) cost[0][j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    for (size_t j = 1; j <= b.size(); ++j) {
      cost[i][j] = std::min({cost[i - 1][j] + 1, cost[i][j - 1] + 1,
                             cost[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        cost[i][j] = std::min(cost[i][j], cost[i - 2][j - 2] + 1);
      }
    }
  }
  return cost[a.size()][b.size()];
}

}  // namespace

std::string nearest_name(std::string_view given, const std::vector<std::string>& names) {
  // Of three letters too many names are near ("gpu" is not meant as "cpu"); none has over 64.
  constexpr size_t kShortest = 4, kLongest = 64;
  if (given.size() < kShortest || given.size() > kLongest) return "";
  std::string nearest;
  size_t least = std::max<size_t>(1, given.size() / 3) + 1;
  for (const std::string& name : names) {
    const size_t distance = edit_distance(given, name);
    if (distance < least && distance < name.size()) {
      least = distance;
      nearest = name;
    }
  }
  if (!nearest.empty()) return nearest;
  const auto longer = std::find_if(
      names.begin(), names.end(), [&](const std::string& name) { return name.starts_with(given); });
  return longer == names.end() ? "" : *longer;
}

std::string did_you_mean(std::string_view given, const std::vector<std::string>& names) {
  const std::string name = nearest_name(given, names);
  return name.empty() ? "" : "; did you mean " + name + "?";
}

}  // namespace convseq
