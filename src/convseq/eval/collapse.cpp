#include "convseq/eval/collapse.h"

#include <fmt/format.h>

#include <set>

namespace convseq {

std::string Collapse::message() const {
  return fmt::format(
      "collapsed: the one answer \"{}\" to all {} examples, which have {} different right answers",
      answer, examples, labels);
}

std::optional<Collapse> find_collapse(std::span<const Outcome> outcomes) {
  std::set<std::string> answers, labels;
  for (const Outcome& outcome : outcomes) {
    answers.insert(single_spaced(outcome.prediction));
    labels.insert(truth_of(outcome));
  }
  if (answers.size() != 1 || labels.size() < 2) return std::nullopt;
  return Collapse{.answer = *answers.begin(),
                  .examples = static_cast<int64_t>(outcomes.size()),
                  .labels = static_cast<int64_t>(labels.size())};
}

}  // namespace convseq
