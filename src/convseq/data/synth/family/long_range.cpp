#include "convseq/data/synth/family/long_range.h"

#include <fmt/format.h>

#include "convseq/base/error.h"
#include "convseq/data/synth/grammar/prose.h"
#include "convseq/data/synth/grammar/words.h"

namespace convseq::synth {
namespace {

constexpr auto kPolarities = {Polarity::Kind, Polarity::Rude};

// Without the phrases at the end of the lists: a distance is counted between single words.
int64_t single_words(Polarity polarity) {
  const WordList words = polar_words(polarity);
  return std::count_if(words.begin(), words.end(),
                       [](std::string_view word) { return word.find(' ') == word.npos; });
}

}  // namespace

LongRange::LongRange(const LongRangeOptions& options) : options_(options) {
  const int64_t most = std::min(single_words(Polarity::Kind), single_words(Polarity::Rude));
  require(options.distance >= 1, "{} has {}; allowed: 1 or more", OptionName("distances"),
          options.distance);
  require(options.cue_words >= 1 && options.cue_words <= most,
          "{} is {}; allowed: 1 to {}, the words of one polarity", OptionName("cue_words"),
          options.cue_words, most);
}

TaskDescription LongRange::describe() const {
  return {.name = fmt::format("long_range_{}", options_.distance),
          .meaning = "Are the first and the last judgement both kind, or both rude?",
          .source = "{text}",
          .labels = {"same", "different"}};
}

std::vector<Example> LongRange::draw_group(Split, int64_t, Random& random) const {
  const auto cue = [&](Polarity polarity) {
    return polar_words(polarity)[random.below(static_cast<uint64_t>(options_.cue_words))];
  };
  const std::array first = {cue(Polarity::Kind), cue(Polarity::Rude)};
  const std::array last = {cue(Polarity::Kind), cue(Polarity::Rude)};
  const Topic& topic = pick(kTopics, random);
  const std::string_view begun = pick(kTimes, random), ended = pick(kTimes, random);
  const std::string_view person = pick(topic.people, random);
  std::string between = plain_prose(topic, options_.distance - 1, random);
  if (!between.empty()) between += " ";

  std::vector<Example> group;
  for (Polarity beginning : kPolarities) {
    for (Polarity end : kPolarities) {
      group.push_back(
          {.inputs = {{"text", fmt::format("the {} of the {} was {}. {}{} was the {}.", begun,
                                           person, first[static_cast<size_t>(beginning)], between,
                                           last[static_cast<size_t>(end)], ended)}},
           .target = beginning == end ? "same" : "different"});
    }
  }
  return group;
}

std::string LongRange::solve(const Inputs& inputs) const {
  std::vector<Polarity> judgements;
  for (std::string_view word : words_of(inputs[0].text)) {
    if (const auto polarity = polarity_of(word)) judgements.push_back(*polarity);
  }
  if (judgements.size() != 2) return "";
  return judgements.front() == judgements.back() ? "same" : "different";
}

}  // namespace convseq::synth
