#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace convseq::synth {

// Facts about a person, and the sentences that state them: what the corpus repeats within a
// document, and what the pair and span tasks ask for.

struct Possession {
  std::string_view owner;
  std::string_view thing;
  std::string_view colour;

  std::string statement() const;    // "mira had a red coat."
  std::string restatement() const;  // "the coat of mira was red."

  // Parses either sentence; returns nothing where `sentence` is neither.
  static std::optional<Possession> parse(std::string_view sentence);
};

struct HidingPlace {
  std::string_view owner;
  std::string_view thing;
  std::string place;  // "under the old bridge"

  std::string statement() const;  // "mira hid the rope under the old bridge."
  std::string question() const;   // "where did mira hide the rope?"

  static std::optional<HidingPlace> parse(std::string_view statement);
  // Parses a question: a fact whose place is not known.
  static std::optional<HidingPlace> parse_question(std::string_view question);
};

}  // namespace convseq::synth
