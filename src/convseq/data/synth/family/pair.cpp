#include "convseq/data/synth/family/pair.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>

#include "convseq/base/error.h"
#include "convseq/data/synth/grammar/facts.h"
#include "convseq/data/synth/grammar/lexicon.h"
#include "convseq/data/synth/grammar/prose.h"
#include "convseq/data/synth/grammar/words.h"

namespace convseq::synth {
namespace {

// One sentence per fact, in this order.
template <class Say>
std::string say_all(const std::vector<Possession>& facts, Say say) {
  std::vector<std::string> sentences;
  for (const Possession& fact : facts) sentences.push_back((fact.*say)());
  return fmt::format("{}", fmt::join(sentences, " "));
}

}  // namespace

Pair::Pair(const PairOptions& options) : options_(options) {
  require(options.comparisons >= 1 && options.comparisons <= int64_t{kPersons.size()},
          "{} has {}; allowed: 1 to {}, one person each", OptionName("comparisons"),
          options.comparisons, kPersons.size());
}

TaskDescription Pair::describe() const {
  return {.name = fmt::format("pair_{}", options_.comparisons),
          .meaning = "Does the hypothesis repeat every fact of the premise?",
          .source = "{premise} claim: {hypothesis}",
          .labels = {"yes", "no"},
          .distinct_fields = {"premise", "hypothesis"}};
}

std::vector<Example> Pair::draw_group(Split, int64_t, Random& random) const {
  auto persons = kPersons;
  random.shuffle(persons);
  std::vector<Possession> facts;
  for (int64_t i = 0; i < options_.comparisons; ++i) {
    facts.push_back({.owner = persons[static_cast<size_t>(i)].name,
                     .thing = pick(kBelongings, random),
                     .colour = pick(kColours, random)});
  }
  auto changed = facts;
  Possession& change = changed[random.below(changed.size())];
  const std::string_view colour = change.colour;
  while (change.colour == colour) change.colour = pick(kColours, random);

  std::vector<size_t> order(facts.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  random.shuffle(order);
  const auto reordered = [&](const std::vector<Possession>& from) {
    std::vector<Possession> to;
    for (size_t i : order) to.push_back(from[i]);
    return to;
  };
  const std::array premises = {say_all(facts, &Possession::statement),
                               say_all(changed, &Possession::statement)};
  const std::array hypotheses = {say_all(reordered(facts), &Possession::restatement),
                                 say_all(reordered(changed), &Possession::restatement)};
  std::vector<Example> group;
  for (size_t p : {0, 1}) {
    for (size_t h : {0, 1}) {
      group.push_back({.inputs = {{"premise", premises[p]}, {"hypothesis", hypotheses[h]}},
                       .target = p == h ? "yes" : "no"});
    }
  }
  return group;
}

std::string Pair::solve(const Inputs& inputs) const {
  using OwnerAndThing = std::pair<std::string_view, std::string_view>;
  std::map<OwnerAndThing, std::string_view> colours;
  for (std::string_view sentence : sentences_of(inputs[0].text)) {
    if (const auto fact = Possession::parse(sentence)) {
      colours[{fact->owner, fact->thing}] = fact->colour;
    }
  }
  for (std::string_view sentence : sentences_of(inputs[1].text)) {
    const auto fact = Possession::parse(sentence);
    if (fact && colours[{fact->owner, fact->thing}] != fact->colour) return "no";
  }
  return "yes";
}

}  // namespace convseq::synth
