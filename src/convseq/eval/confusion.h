#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>

#include "convseq/eval/outcome.h"

namespace convseq {

// confusion[truth][answer]: the count. Pairs that never occurred are absent.
using Confusion = std::map<std::string, std::map<std::string, int64_t>>;

inline Confusion confusion_of(std::span<const Outcome> outcomes) {
  Confusion confusion;
  for (const Outcome& outcome : outcomes) {
    ++confusion[truth_of(outcome)][single_spaced(outcome.prediction)];
  }
  return confusion;
}

}  // namespace convseq
