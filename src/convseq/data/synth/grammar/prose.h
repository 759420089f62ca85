#pragma once

#include <string>

#include "convseq/base/random.h"
#include "convseq/data/synth/grammar/lexicon.h"

namespace convseq::synth {

template <class List>
const auto& pick(const List& list, Random& random) {
  return list[random.below(list.size())];
}

inline bool chance(double probability, Random& random) { return random.uniform() < probability; }

// "the baker waited near the old pantry": exactly `words` words (at least one), no full stop.
// It contains nothing that the label of any task depends on.
std::string plain_sentence(const Topic& topic, int64_t words, Random& random);

// Plain sentences of `words` words in all, each with its full stop: "night came. the baker … ."
std::string plain_prose(const Topic& topic, int64_t words, Random& random);

// "under the old bridge"
std::string place_phrase(const Topic& topic, Random& random);

}  // namespace convseq::synth
