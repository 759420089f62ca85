#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "convseq/base/random.h"
#include "convseq/data/synth/grammar/lexicon.h"

namespace convseq::synth {

// "the rope near the gate under the tower", or a bare name.
struct NounPhrase {
  struct Place {
    std::string_view preposition;
    std::string_view noun;
  };
  std::string_view article;  // "the", "a"; empty for a name
  std::string_view noun;
  std::vector<Place> places;  // each locates the one before it
};

enum class ClauseKind { Intransitive, Transitive, Passive, Giving, Saying };

// The meaning of a sentence: who did what to whom.
struct Clause {
  ClauseKind kind;
  Verb verb;
  NounPhrase who;
  NounPhrase what;           // Transitive, Passive, Giving
  NounPhrase whom;           // Giving
  std::vector<Clause> that;  // Saying: one clause
};

// "the potter sent a rope near the gate to mira"
std::string sentence_of(const Clause& clause);
// "send ( who the potter , what a rope ( near the gate ) , whom mira )"
std::string logical_form_of(const Clause& clause);

// Parses a sentence; the views point into `sentence` or the lexicon. Returns nothing where it is no
// sentence of this grammar.
std::optional<Clause> parse_clause(std::string_view sentence);

struct ClauseOptions {
  int64_t depth = 1;        // nesting of clauses: "x said that y thought that …" has 2
  int64_t most_places = 1;  // in one noun phrase
};
Clause draw_clause(const Topic& topic, const ClauseOptions& options, Random& random);

}  // namespace convseq::synth
