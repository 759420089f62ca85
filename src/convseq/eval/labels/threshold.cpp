#include "convseq/eval/labels/threshold.h"

#include <algorithm>
#include <numeric>

#include "convseq/base/error.h"

namespace convseq {
namespace {

// What accepting the examples down to some probability gives.
struct Accepted {
  double right = 0, answered = 0, truths = 0;

  double precision() const { return right / answered; }
  double recall() const { return right / truths; }
  double f1() const { return 2 * right / (answered + truths); }
};

}  // namespace

std::string ThresholdRequest::describe() const {
  if (goal == ThresholdGoal::F1) return std::string(name_of(goal));
  return fmt::format("{}={}", name_of(goal), value);
}

std::optional<double> fit_threshold(const ThresholdRequest& request,
                                    std::span<const double> probabilities,
                                    const std::vector<bool>& truths) {
  require(probabilities.size() == truths.size(), "threshold: {} probabilities and {} labels",
          probabilities.size(), truths.size());
  std::vector<size_t> order(truths.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return probabilities[a] > probabilities[b]; });
  Accepted accepted{.truths = static_cast<double>(std::count(truths.begin(), truths.end(), true))};
  if (accepted.truths == 0) return std::nullopt;
  std::optional<double> found;
  double best_f1 = 0;
  for (size_t i = 0; i < order.size(); ++i) {
    ++accepted.answered;
    if (truths[order[i]]) ++accepted.right;
    const double here = probabilities[order[i]];
    const double next = i + 1 < order.size() ? probabilities[order[i + 1]] : 0;
    if (i + 1 < order.size() && next == here) continue;
    const double threshold = (here + next) / 2;
    switch (request.goal) {
      case ThresholdGoal::Precision:
        if (accepted.precision() >= request.value) found = threshold;
        break;
      case ThresholdGoal::Recall:
        if (!found && accepted.recall() >= request.value) found = threshold;
        break;
      case ThresholdGoal::F1:
        if (accepted.f1() > best_f1) found = threshold;
        best_f1 = std::max(best_f1, accepted.f1());
        break;
    }
  }
  return found;
}

}  // namespace convseq
