#include "convseq/data/synth/grammar/facts.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "convseq/data/synth/grammar/words.h"

namespace convseq::synth {

std::string Possession::statement() const {
  return fmt::format("{} had a {} {}.", owner, colour, thing);
}

std::string Possession::restatement() const {
  return fmt::format("the {} of {} was {}.", thing, owner, colour);
}

std::optional<Possession> Possession::parse(std::string_view sentence) {
  const auto words = words_of(sentence);
  if (words.size() == 5 && words[1] == "had" && words[2] == "a") {
    return Possession{.owner = words[0], .thing = words[4], .colour = words[3]};
  }
  if (words.size() == 6 && words[0] == "the" && words[2] == "of" && words[4] == "was") {
    return Possession{.owner = words[3], .thing = words[1], .colour = words[5]};
  }
  return std::nullopt;
}

std::string HidingPlace::statement() const {
  return fmt::format("{} hid the {} {}.", owner, thing, place);
}

std::string HidingPlace::question() const {
  return fmt::format("where did {} hide the {}?", owner, thing);
}

std::optional<HidingPlace> HidingPlace::parse(std::string_view statement) {
  const auto words = words_of(statement);
  if (words.size() < 5 || words[1] != "hid" || words[2] != "the") return std::nullopt;
  return HidingPlace{.owner = words[0],
                     .thing = words[3],
                     .place = fmt::format("{}", fmt::join(words.begin() + 4, words.end(), " "))};
}

std::optional<HidingPlace> HidingPlace::parse_question(std::string_view question) {
  const auto words = words_of(question);
  if (words.size() != 6 || words[0] != "where" || words[3] != "hide") return std::nullopt;
  return HidingPlace{.owner = words[2], .thing = words[5], .place = ""};
}

}  // namespace convseq::synth
