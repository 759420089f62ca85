#include "convseq/eval/class_scores.h"

namespace convseq {
namespace {

double ratio(int64_t part, int64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

}  // namespace

std::vector<ClassScore> class_scores(const Confusion& confusion,
                                     const std::vector<std::string>& labels) {
  std::vector<ClassScore> scores;
  for (const std::string& given : labels) {
    const std::string label = single_spaced(given);
    ClassScore score{.label = label};
    int64_t right = 0;
    for (const auto& [truth, answers] : confusion) {
      for (const auto& [answer, count] : answers) {
        if (truth == label) score.support += count;
        if (answer == label) score.answered += count;
        if (truth == label && answer == label) right += count;
      }
    }
    score.precision = ratio(right, score.answered);
    score.recall = ratio(right, score.support);
    score.f1 = ratio(2 * right, score.answered + score.support);
    scores.push_back(std::move(score));
  }
  return scores;
}

Majority majority_of(const Confusion& confusion) {
  Majority majority;
  int64_t most = 0, all = 0;
  for (const auto& [truth, answers] : confusion) {
    int64_t support = 0;
    for (const auto& [answer, count] : answers) support += count;
    all += support;
    if (support > most) {
      most = support;
      majority.label = truth;
    }
  }
  majority.share = ratio(most, all);
  return majority;
}

}  // namespace convseq
