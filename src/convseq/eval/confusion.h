#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>

#include "convseq/eval/labels/label_pairs.h"

namespace convseq {

// confusion[truth][answer]: the number of label pairs. Pairs that never occurred are absent.
using Confusion = std::map<std::string, std::map<std::string, int64_t>>;

inline Confusion confusion_of(std::span<const Outcome> outcomes) {
  Confusion confusion;
  for (const Outcome& outcome : outcomes) {
    for (const auto& [truth, answer] : label_pairs(outcome)) ++confusion[truth][answer];
  }
  return confusion;
}

}  // namespace convseq
