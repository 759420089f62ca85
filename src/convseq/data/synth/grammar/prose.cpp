#include "convseq/data/synth/grammar/prose.h"

#include "convseq/data/synth/grammar/words.h"

namespace convseq::synth {
namespace {

constexpr int64_t kLongestSentence = 12;

// What may follow `sentence`, "the baker waited": at most `words` words of it.
std::string addition(const Topic& topic, std::string_view sentence, int64_t words, Random& random) {
  if (words >= 4 && chance(0.3, random)) return place_phrase(topic, random);
  if (words >= 3 && chance(0.2, random)) return phrase({"in", "the", pick(kTimes, random)});
  if (words >= 3 && chance(0.5, random)) {
    return phrase({pick(kPrepositions, random), "the", pick(topic.places, random)});
  }
  std::string_view adverb = pick(kAdverbs, random);
  while (sentence.ends_with(adverb)) adverb = pick(kAdverbs, random);
  return std::string(adverb);
}

int64_t count_words(std::string_view text) { return 1 + std::count(text.begin(), text.end(), ' '); }

}  // namespace

std::string plain_sentence(const Topic& topic, int64_t words, Random& random) {
  if (words == 1) return std::string(pick(kAdverbs, random));
  if (words == 2) return phrase({pick(kTimes, random), "came"});
  std::string sentence =
      phrase({"the", pick(topic.people, random), pick(kIntransitiveVerbs, random).past});
  for (int64_t left = words - 3; left > 0;) {
    const std::string more = addition(topic, sentence, left, random);
    sentence += " " + more;
    left -= count_words(more);
  }
  return sentence;
}

std::string plain_prose(const Topic& topic, int64_t words, Random& random) {
  std::string prose;
  while (words > 0) {
    const int64_t next =
        words > kLongestSentence ? 5 + static_cast<int64_t>(random.below(5)) : words;
    if (!prose.empty()) prose += ' ';
    prose += plain_sentence(topic, next, random);
    prose += '.';
    words -= next;
  }
  return prose;
}

std::string place_phrase(const Topic& topic, Random& random) {
  return phrase({pick(kPrepositions, random), "the", pick(kPlainAdjectives, random),
                 pick(topic.places, random)});
}

}  // namespace convseq::synth
