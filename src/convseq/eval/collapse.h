#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "convseq/eval/outcome.h"

namespace convseq {

// A collapsed model gives the same answer to every example. It has not learnt the task, although
// its accuracy may look acceptable; such a run is never averaged in silently.
struct Collapse {
  std::string answer = {};
  int64_t examples = 0;
  int64_t labels = 0;  // number of different right answers

  std::string message() const;  // one line for a log
};

// Found if all answers are the same and there are at least two different right ones.
std::optional<Collapse> find_collapse(std::span<const Outcome> outcomes);

}  // namespace convseq
