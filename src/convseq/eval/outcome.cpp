#include "convseq/eval/outcome.h"

namespace convseq {

std::string single_spaced(const std::string& text) {
  std::string tidy;
  bool gap = false;
  for (char c : text) {
    if (c == ' ' || (c >= '\t' && c <= '\r')) {
      gap = !tidy.empty();
      continue;
    }
    if (gap) tidy += ' ';
    gap = false;
    tidy += c;
  }
  return tidy;
}

std::string truth_of(const Outcome& outcome) {
  const std::string given = single_spaced(outcome.prediction);
  for (const std::string& reference : outcome.references) {
    if (single_spaced(reference) == given) return given;
  }
  return single_spaced(outcome.references.front());
}

bool is_right(const Outcome& outcome) {
  return truth_of(outcome) == single_spaced(outcome.prediction);
}

}  // namespace convseq
