#include "convseq/data/synth/family/scope.h"

#include <fmt/format.h>

#include "convseq/base/contains.h"
#include "convseq/base/error.h"
#include "convseq/data/synth/grammar/prose.h"
#include "convseq/data/synth/grammar/words.h"

namespace convseq::synth {
namespace {

std::string judgement(Polarity polarity, bool strong) {
  if (polarity == Polarity::Kind) return strong ? "great" : "good";
  return strong ? "dreadful" : "bad";
}

struct Judged {
  std::string subject;
  std::string hedges;  // each followed by a space
  std::string_view adjective;
};

// "the inn was not very perhaps tami"
std::string clause(const Judged& judged, std::string_view negation, std::string_view intensifier) {
  std::string text = fmt::format("the {} was ", judged.subject);
  if (!negation.empty()) text += fmt::format("{} ", negation);
  if (!intensifier.empty()) text += fmt::format("{} ", intensifier);
  return text + judged.hedges + std::string(judged.adjective);
}

}  // namespace

Scope::Scope(const ScopeOptions& options)
    : options_(options), words_(options.seed, options.shown_share) {
  require(options.window >= 0, "{} has {}; allowed: 0 or more", OptionName("windows"),
          options.window);
  require(options.sentences >= 0, "{} is {}; allowed: 0 or more", OptionName("sentences"),
          options.sentences);
}

TaskDescription Scope::describe() const {
  return {.name = fmt::format("scope_{}", options_.window),
          .meaning = "What is said of the place, with negation and intensifier where they belong?",
          .source = "{text}",
          .labels = {"good", "great", "bad", "dreadful"},
          .has_categories = true};
}

std::vector<Example> Scope::draw_group(Split split, int64_t number, Random& random) const {
  const bool hidden = split != Split::Train && words_.hides_any() && number % 2 == 1;
  const auto words = hidden ? words_.draw_hidden(random) : words_.draw_shown(random);
  const auto polarity = number / 2 % 2 == 0 ? Polarity::Kind : Polarity::Rude;
  const Topic& topic = pick(kTopics, random);
  const auto hedges = [&] {
    std::string text;
    for (int64_t i = 0; i < options_.window; ++i) text += fmt::format("{} ", pick(kHedges, random));
    return text;
  };
  const Judged target{std::string(pick(topic.places, random)), hedges(),
                      words[static_cast<size_t>(polarity)]};
  const Judged other{std::string(pick(topic.things, random)), hedges(),
                     pick(kPlainAdjectives, random)};
  const std::string_view negation = pick(kNegations, random);
  const std::string_view intensifier = pick(kIntensifiers, random);
  const bool target_first = chance(0.5, random);
  std::string before = plain_prose(topic, 6 * options_.sentences, random);
  if (!before.empty()) before += " ";

  std::vector<Example> group;
  for (bool negated : {false, true}) {
    for (bool strong : {false, true}) {
      const std::string judged = clause(target, negated ? negation : "", strong ? intensifier : "");
      const std::string decoy = clause(other, negated ? "" : negation, strong ? "" : intensifier);
      const std::string text = fmt::format("{}{}, and {}.", before, target_first ? judged : decoy,
                                           target_first ? decoy : judged);
      group.push_back({.inputs = {{"text", text}},
                       .target = judgement(negated ? opposite(polarity) : polarity, strong),
                       .category = hidden ? "hidden words" : "shown words"});
    }
  }
  return group;
}

std::string Scope::solve(const Inputs& inputs) const {
  const auto words = words_of(inputs[0].text);
  size_t at = 0;
  while (at < words.size() && !polarity_of(words[at])) ++at;
  if (at == words.size()) return "";
  const Polarity polarity = *polarity_of(words[at]);
  bool negated = false, strong = false;
  while (at > 0 && words[--at] != "was") {
    negated = negated || contains(kNegations, words[at]);
    strong = strong || contains(kIntensifiers, words[at]);
  }
  return judgement(negated ? opposite(polarity) : polarity, strong);
}

}  // namespace convseq::synth
