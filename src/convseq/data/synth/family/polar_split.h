#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "convseq/base/random.h"
#include "convseq/data/synth/grammar/lexicon.h"

namespace convseq::synth {

// The kind and rude words, split into those that the training set of a task shows and those that it
// hides. Only the corpus tells what the hidden ones are.
class PolarSplit {
 public:
  // At least one word of each polarity is shown.
  PolarSplit(uint64_t seed, double shown_share);

  bool hides_any() const { return !hidden_[0].empty(); }

  // A kind and a rude word, {kind, rude}, both shown or both hidden.
  std::array<std::string_view, 2> draw_shown(Random& random) const { return draw(shown_, random); }
  std::array<std::string_view, 2> draw_hidden(Random& random) const {
    return draw(hidden_, random);
  }

 private:
  using Words = std::array<std::vector<std::string_view>, 2>;
  static std::array<std::string_view, 2> draw(const Words& words, Random& random);

  Words shown_;
  Words hidden_;
};

}  // namespace convseq::synth
