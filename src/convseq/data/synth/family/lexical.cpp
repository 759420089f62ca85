#include "convseq/data/synth/family/lexical.h"

#include <fmt/format.h>

#include "convseq/base/error.h"
#include "convseq/data/synth/grammar/prose.h"
#include "convseq/data/synth/grammar/words.h"

namespace convseq::synth {
namespace {

constexpr std::array kLabels = {"kind", "rude"};  // by Polarity

// A sentence with a gap, "{}", for the polar word.
std::string draw_frame(const Topic& topic, Random& random) {
  const std::string_view name = pick(kPersons, random).name;
  const std::string_view person = pick(topic.people, random);
  switch (random.below(4)) {
    case 0:
      return fmt::format("{} called the {} {{}}.", name, person);
    case 1:
      return fmt::format("the {{}} {} came back to {}.", person, name);
    case 2:
      return fmt::format("everyone found the {} {{}}.", pick(topic.places, random));
    default:
      return fmt::format("{} was a {{}} {}.", name, person);
  }
}

}  // namespace

Lexical::Lexical(const LexicalOptions& options)
    : options_(options), words_(options.seed, options.shown_share) {
  require(options.sentences >= 0, "{} is {}; allowed: 0 or more", OptionName("sentences"),
          options.sentences);
}

TaskDescription Lexical::describe() const {
  return {.name = "lexical",
          .meaning = "Is the one word that judges kind or rude?",
          .source = "{text}",
          .labels = {kLabels.begin(), kLabels.end()},
          .positive_label = "rude",
          .metrics = {Metric::Accuracy, Metric::F1},
          .has_categories = true};
}

std::vector<Example> Lexical::draw_group(Split split, int64_t number, Random& random) const {
  const bool hidden = split != Split::Train && words_.hides_any() && number % 2 == 1;
  const auto words = hidden ? words_.draw_hidden(random) : words_.draw_shown(random);
  const Topic& topic = pick(kTopics, random);
  const auto before =
      static_cast<int64_t>(random.below(static_cast<uint64_t>(options_.sentences) + 1));
  std::string frame;
  for (int64_t i = 0; i <= options_.sentences; ++i) {
    if (i > 0) frame += " ";
    frame += i == before ? draw_frame(topic, random)
                         : plain_prose(topic, 4 + static_cast<int64_t>(random.below(5)), random);
  }
  std::vector<Example> group;
  for (size_t polarity : {0, 1}) {
    group.push_back({.inputs = {{"text", fmt::format(fmt::runtime(frame), words[polarity])}},
                     .target = kLabels[polarity],
                     .category = hidden ? "hidden words" : "shown words"});
  }
  return group;
}

std::string Lexical::solve(const Inputs& inputs) const {
  for (std::string_view word : words_of(inputs[0].text)) {
    if (const auto polarity = polarity_of(word)) return kLabels[static_cast<size_t>(*polarity)];
  }
  return "";
}

}  // namespace convseq::synth
