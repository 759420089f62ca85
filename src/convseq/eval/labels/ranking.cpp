#include "convseq/eval/labels/ranking.h"

#include <algorithm>
#include <numeric>

#include "convseq/eval/labels/label_counts.h"
#include "convseq/eval/labels/label_pairs.h"

namespace convseq {
namespace {

// Examples with one probability of a label.
struct Tied {
  double with = 0, without = 0;  // the label
};

// The examples in descending order of one label's probability.
class Ranking {
 public:
  Ranking(std::span<const Outcome> outcomes, const LabelNumbers& numbers, uint32_t label)
      : order_(outcomes.size()), has_label_(outcomes.size()), ends_group_(outcomes.size()) {
    std::iota(order_.begin(), order_.end(), 0U);
    const auto score = [&](uint32_t example) { return outcomes[example].probabilities[label]; };
    std::stable_sort(order_.begin(), order_.end(),
                     [&](uint32_t a, uint32_t b) { return score(a) > score(b); });
    for (size_t i = 0; i < order_.size(); ++i) {
      const std::vector<std::string> truths = true_labels(outcomes[order_[i]]);
      has_label_[i] = std::any_of(truths.begin(), truths.end(),
                                  [&](const auto& each) { return numbers[each] == label; });
      ends_group_[i] = i + 1 == order_.size() || score(order_[i]) != score(order_[i + 1]);
    }
  }

  // `times`: how often the sample contains each example.
  template <class Visit>
  void visit(const std::vector<uint32_t>& times, Visit visit) const {
    Tied group;
    for (size_t i = 0; i < order_.size(); ++i) {
      (has_label_[i] ? group.with : group.without) += times[order_[i]];
      if (!ends_group_[i]) continue;
      visit(group);
      group = {};
    }
  }

  Tied total(const std::vector<uint32_t>& times) const {
    Tied total;
    visit(times, [&](const Tied& group) {
      total.with += group.with;
      total.without += group.without;
    });
    return total;
  }

 private:
  std::vector<uint32_t> order_;
  std::vector<bool> has_label_, ends_group_;  // in that order
};

double roc_auc(const Ranking& ranking, const std::vector<uint32_t>& times, const Tied& total) {
  double area = 0, before = 0;  // `before`: examples with the label and a higher probability
  ranking.visit(times, [&](const Tied& group) {
    area += group.without * (before + group.with / 2);
    before += group.with;
  });
  return area / (total.with * total.without);
}

double average_precision(const Ranking& ranking, const std::vector<uint32_t>& times,
                         const Tied& total) {
  double area = 0;
  Tied above;
  ranking.visit(times, [&](const Tied& group) {
    above.with += group.with;
    above.without += group.without;
    if (group.with > 0) area += group.with / total.with * above.with / (above.with + above.without);
  });
  return area;
}

using AreaOf = double (*)(const Ranking&, const std::vector<uint32_t>&, const Tied&);

Statistic mean_area(std::span<const Outcome> outcomes, const LabelSet& labels, AreaOf area_of,
                    double chance) {
  const LabelNumbers numbers(labels.all);
  std::vector<Ranking> rankings;
  for (uint32_t label = 0; label < numbers.size(); ++label) {
    const bool wanted = labels.positive.empty() || numbers[single_spaced(labels.positive)] == label;
    if (wanted) rankings.emplace_back(outcomes, numbers, label);
  }
  return
      [rankings = std::move(rankings), examples = outcomes.size(), area_of, chance](Sample sample) {
        std::vector<uint32_t> times(examples);
        for (const uint32_t example : sample) ++times[example];
        double sum = 0, ranked = 0;
        for (const Ranking& ranking : rankings) {
          const Tied total = ranking.total(times);
          if (total.with == 0 || total.without == 0) continue;
          sum += area_of(ranking, times, total);
          ++ranked;
        }
        return ranked > 0 ? sum / ranked : chance;
      };
}

}  // namespace

Statistic roc_auc_of(std::span<const Outcome> outcomes, const LabelSet& labels) {
  return mean_area(outcomes, labels, roc_auc, 0.5);
}

Statistic average_precision_of(std::span<const Outcome> outcomes, const LabelSet& labels) {
  return mean_area(outcomes, labels, average_precision, 0);
}

}  // namespace convseq
