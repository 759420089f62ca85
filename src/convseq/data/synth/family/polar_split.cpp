#include "convseq/data/synth/family/polar_split.h"

#include <cmath>

#include "convseq/base/error.h"
#include "convseq/data/synth/grammar/prose.h"
#include "convseq/data/synth/random_streams.h"

namespace convseq::synth {

PolarSplit::PolarSplit(uint64_t seed, double shown_share) {
  require(shown_share > 0 && shown_share <= 1, "{} is {}; allowed: over 0, up to 1",
          OptionName("shown_share"), shown_share);
  for (Polarity polarity : {Polarity::Kind, Polarity::Rude}) {
    const auto index = static_cast<size_t>(polarity);
    const WordList all = polar_words(polarity);
    std::vector<std::string_view> words(all.begin(), all.end());
    Random(seed, {kPolarSplitStream, index}).shuffle(words);
    const auto shown =
        static_cast<ptrdiff_t>(std::ceil(shown_share * static_cast<double>(words.size())));
    shown_[index].assign(words.begin(), words.begin() + shown);
    hidden_[index].assign(words.begin() + shown, words.end());
  }
}

std::array<std::string_view, 2> PolarSplit::draw(const Words& words, Random& random) {
  const std::string_view kind = pick(words[0], random);
  return {kind, pick(words[1], random)};
}

}  // namespace convseq::synth
