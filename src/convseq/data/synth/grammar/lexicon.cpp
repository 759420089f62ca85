#include "convseq/data/synth/grammar/lexicon.h"

#include <string>
#include <unordered_map>

namespace convseq::synth {
namespace {

using PolarityOfWord = std::unordered_map<std::string_view, Polarity>;

PolarityOfWord index_polar_words() {
  PolarityOfWord index;
  for (Polarity polarity : {Polarity::Kind, Polarity::Rude}) {
    for (std::string_view entry : polar_words(polarity)) {
      const size_t space = entry.find(' ');
      index[entry.substr(0, space)] = polarity;
      if (space != entry.npos) index[entry.substr(space + 1)] = polarity;
    }
  }
  return index;
}

}  // namespace

WordList polar_words(Polarity polarity) {
  return polarity == Polarity::Kind ? WordList(kKindWords) : WordList(kRudeWords);
}

WordList feelings(Polarity polarity) {
  return polarity == Polarity::Kind ? WordList(kGladWords) : WordList(kSadWords);
}

Polarity opposite(Polarity polarity) {
  return polarity == Polarity::Kind ? Polarity::Rude : Polarity::Kind;
}

std::optional<Polarity> polarity_of(std::string_view word) {
  static const PolarityOfWord index = index_polar_words();
  const auto found = index.find(word);
  return found == index.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace convseq::synth
