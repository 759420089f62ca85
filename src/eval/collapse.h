#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "convseq/eval/outcome.h"

namespace convseq {

// A model that gives one answer whatever it is asked has not learnt the task, though its accuracy
// may look like that of one that has: no run of this kind is averaged in silently.
struct Collapse {
  std::string answer = {};
  int64_t examples = 0;
  int64_t labels = 0;  // different right answers among them

  std::string message() const;  // one line for a log
};

// One constant answer on examples with at least two different right ones.
std::optional<Collapse> find_collapse(std::span<const Outcome> outcomes);

}  // namespace convseq
