#include "convseq/data/synth/family/compositional.h"

#include <set>

#include "convseq/base/error.h"
#include "convseq/data/synth/grammar/prose.h"

namespace convseq::synth {
namespace {

// Of each topic's people, the first is never an object in training, and the second never a subject.
template <size_t position>
bool is_person(std::string_view noun) {
  return std::any_of(kTopics.begin(), kTopics.end(),
                     [&](const Topic& topic) { return topic.people[position] == noun; });
}
bool only_subject(std::string_view noun) { return is_person<0>(noun); }
bool only_object(std::string_view noun) { return is_person<1>(noun); }

// The first of the transitive verbs are never passive in training, the next never active.
bool is_transitive(size_t begin, size_t end, std::string_view base) {
  return std::any_of(kTransitiveVerbs.begin() + begin, kTransitiveVerbs.begin() + end,
                     [&](const Verb& verb) { return verb.base == base; });
}
bool only_active(const Verb& verb) { return is_transitive(0, 3, verb.base); }
bool only_passive(const Verb& verb) { return is_transitive(3, 6, verb.base); }

const Clause* inner(const Clause& clause) {
  return clause.that.empty() ? nullptr : &clause.that.front();
}

}  // namespace

Compositional::Compositional(const CompositionalOptions& options) : options_(options) {
  require(options.depth >= 0, "{} is {}; allowed: 0 or more", OptionName("depth"), options.depth);
  require(options.places >= 0, "{} is {}; allowed: 0 or more", OptionName("places"),
          options.places);
}

TaskDescription Compositional::describe() const {
  return {.name = "compositional",
          .meaning = "A sentence to its logical form",
          .source = "{text}",
          .target_field = "form",
          .metrics = {Metric::ExactMatch},
          .has_categories = true,
          .splits = {Split::Train, Split::Validation, Split::Test, Split::Generalisation}};
}

std::vector<Novelty> Compositional::novelties_of(const Clause& whole) const {
  std::set<Novelty> found;
  const auto note = [&](bool seen, Novelty novelty) {
    if (seen) found.insert(novelty);
  };
  int64_t depth = -1;
  for (const Clause* clause = &whole; clause != nullptr; clause = inner(*clause)) {
    ++depth;
    note(only_subject(clause->what.noun) || only_subject(clause->whom.noun), Novelty::NounAsObject);
    note(only_object(clause->who.noun), Novelty::NounAsSubject);
    note(clause->kind == ClauseKind::Passive && only_active(clause->verb), Novelty::VerbInPassive);
    note(clause->kind == ClauseKind::Transitive && only_passive(clause->verb),
         Novelty::VerbInActive);
    note(static_cast<int64_t>(clause->what.places.size()) > options_.places, Novelty::LongerPlace);
    note(!clause->who.places.empty(), Novelty::PlaceOnSubject);
  }
  note(depth > options_.depth, Novelty::DeeperClause);
  return {found.begin(), found.end()};
}

std::vector<Example> Compositional::draw_group(Split split, int64_t number, Random& random) const {
  const Topic& topic = pick(kTopics, random);
  std::vector<Novelty> wanted;
  ClauseOptions draw{.depth = options_.depth, .most_places = options_.places};
  std::string category = "known structure";
  if (split == Split::Generalisation) {
    const auto& [novelty, name] =
        kEnumNames<Novelty>[static_cast<size_t>(number) % kEnumNames<Novelty>.size()];
    wanted = {novelty};
    category = name;
    if (novelty == Novelty::DeeperClause) draw.depth += 2;
    if (novelty == Novelty::LongerPlace) draw.most_places += 2;
    if (novelty == Novelty::PlaceOnSubject)
      draw.most_places = std::max<int64_t>(1, draw.most_places);
  }
  Clause clause = draw_clause(topic, draw, random);
  while (novelties_of(clause) != wanted) clause = draw_clause(topic, draw, random);
  return {{.inputs = {{"text", sentence_of(clause) + "."}},
           .target = logical_form_of(clause),
           .category = category}};
}

std::string Compositional::solve(const Inputs& inputs) const {
  const auto clause = parse_clause(inputs[0].text);
  return clause ? logical_form_of(*clause) : "";
}

}  // namespace convseq::synth
