#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>

#include "convseq/eval/outcome.h"

namespace convseq {

// confusion[truth][answer]: how often. Pairs that never occurred are not in it.
using Confusion = std::map<std::string, std::map<std::string, int64_t>>;

inline Confusion confusion_of(std::span<const Outcome> outcomes) {
  Confusion confusion;
  for (const Outcome& outcome : outcomes) {
    ++confusion[truth_of(outcome)][single_spaced(outcome.prediction)];
  }
  return confusion;
}

}  // namespace convseq
