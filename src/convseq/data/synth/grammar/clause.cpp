#include "convseq/data/synth/grammar/clause.h"

#include <fmt/format.h>

#include "convseq/base/contains.h"
#include "convseq/data/synth/grammar/prose.h"
#include "convseq/data/synth/grammar/words.h"

namespace convseq::synth {
namespace {

std::string words_of_phrase(const NounPhrase& phrase) {
  return phrase.article.empty() ? std::string(phrase.noun)
                                : fmt::format("{} {}", phrase.article, phrase.noun);
}

std::string text_of(const NounPhrase& phrase) {
  std::string text = words_of_phrase(phrase);
  for (const auto& place : phrase.places) {
    text += fmt::format(" {} the {}", place.preposition, place.noun);
  }
  return text;
}

std::string form_of(const NounPhrase& phrase) {
  std::string form = words_of_phrase(phrase);
  for (const auto& place : phrase.places) {
    form += fmt::format(" ( {} the {}", place.preposition, place.noun);
  }
  for (size_t open = 0; open < phrase.places.size(); ++open) form += " )";
  return form;
}

template <class List>
const Verb* find_past(const List& verbs, std::string_view past) {
  for (const Verb& verb : verbs) {
    if (verb.past == past) return &verb;
  }
  return nullptr;
}

// Recursive descent over the words of one sentence.
class ClauseParser {
 public:
  explicit ClauseParser(std::string_view sentence) : words_(words_of(sentence)) {}

  std::optional<Clause> parse() {
    auto found = clause();
    if (next_ != words_.size()) return std::nullopt;
    return found;
  }

 private:
  std::string_view word() const { return next_ < words_.size() ? words_[next_] : ""; }
  bool take(std::string_view wanted) {
    if (word() != wanted) return false;
    ++next_;
    return true;
  }

  NounPhrase phrase() {
    NounPhrase found{};
    if (word() == "the" || word() == "a") found.article = words_[next_++];
    found.noun = word();
    ++next_;
    while (contains(kPrepositions, word())) {
      const std::string_view preposition = words_[next_++];
      take("the");
      found.places.push_back({preposition, word()});
      ++next_;
    }
    return found;
  }

  std::optional<Clause> clause() {
    NounPhrase first = phrase();
    if (take("was")) {
      const Verb* verb = find_past(kTransitiveVerbs, word());
      ++next_;
      if (verb == nullptr || !take("by")) return std::nullopt;
      return Clause{ClauseKind::Passive, *verb, phrase(), std::move(first), {}, {}};
    }
    const std::string_view past = word();
    ++next_;
    if (const Verb* verb = find_past(kIntransitiveVerbs, past)) {
      return Clause{ClauseKind::Intransitive, *verb, std::move(first), {}, {}, {}};
    }
    if (const Verb* verb = find_past(kTransitiveVerbs, past)) {
      return Clause{ClauseKind::Transitive, *verb, std::move(first), phrase(), {}, {}};
    }
    if (const Verb* verb = find_past(kGivingVerbs, past)) {
      NounPhrase what = phrase();
      if (!take("to")) return std::nullopt;
      return Clause{ClauseKind::Giving, *verb, std::move(first), std::move(what), phrase(), {}};
    }
    if (const Verb* verb = find_past(kSayingVerbs, past); verb != nullptr && take("that")) {
      if (auto inner = clause()) {
        return Clause{ClauseKind::Saying, *verb, std::move(first), {}, {}, {*std::move(inner)}};
      }
    }
    return std::nullopt;
  }

  std::vector<std::string_view> words_;
  size_t next_ = 0;
};

NounPhrase draw_someone(const Topic& topic, Random& random) {
  if (chance(0.4, random)) return {"", pick(kPersons, random).name, {}};
  return {chance(0.7, random) ? "the" : "a", pick(topic.people, random), {}};
}

NounPhrase draw_anything(const Topic& topic, Random& random) {
  if (chance(0.3, random)) return draw_someone(topic, random);
  return {chance(0.7, random) ? "the" : "a", pick(topic.things, random), {}};
}

void put_somewhere(NounPhrase& phrase, const Topic& topic, int64_t most, Random& random) {
  if (phrase.article.empty()) return;  // a name stands alone
  while (static_cast<int64_t>(phrase.places.size()) < most && chance(0.4, random)) {
    phrase.places.push_back({pick(kPrepositions, random), pick(topic.places, random)});
  }
}

}  // namespace

std::string sentence_of(const Clause& clause) {
  const std::string who = text_of(clause.who);
  switch (clause.kind) {
    case ClauseKind::Intransitive:
      return fmt::format("{} {}", who, clause.verb.past);
    case ClauseKind::Transitive:
      return fmt::format("{} {} {}", who, clause.verb.past, text_of(clause.what));
    case ClauseKind::Passive:
      return fmt::format("{} was {} by {}", text_of(clause.what), clause.verb.past, who);
    case ClauseKind::Giving:
      return fmt::format("{} {} {} to {}", who, clause.verb.past, text_of(clause.what),
                         text_of(clause.whom));
    case ClauseKind::Saying:
      return fmt::format("{} {} that {}", who, clause.verb.past, sentence_of(clause.that.front()));
  }
  return {};
}

std::string logical_form_of(const Clause& clause) {
  std::string form = fmt::format("{} ( who {}", clause.verb.base, form_of(clause.who));
  if (!clause.what.noun.empty()) form += fmt::format(" , what {}", form_of(clause.what));
  if (!clause.whom.noun.empty()) form += fmt::format(" , whom {}", form_of(clause.whom));
  if (!clause.that.empty()) form += fmt::format(" , that {}", logical_form_of(clause.that.front()));
  return form + " )";
}

std::optional<Clause> parse_clause(std::string_view sentence) {
  return ClauseParser(sentence).parse();
}

Clause draw_clause(const Topic& topic, const ClauseOptions& options, Random& random) {
  Clause clause{};
  clause.who = draw_someone(topic, random);
  put_somewhere(clause.who, topic, options.most_places, random);
  if (options.depth > 0 && chance(0.3, random)) {
    clause.kind = ClauseKind::Saying;
    clause.verb = pick(kSayingVerbs, random);
    clause.that.push_back(draw_clause(
        topic, {.depth = options.depth - 1, .most_places = options.most_places}, random));
    return clause;
  }
  clause.kind = pick(std::to_array({ClauseKind::Intransitive, ClauseKind::Transitive,
                                    ClauseKind::Passive, ClauseKind::Giving}),
                     random);
  if (clause.kind == ClauseKind::Intransitive) {
    clause.verb = pick(kIntransitiveVerbs, random);
    return clause;
  }
  clause.what = draw_anything(topic, random);
  put_somewhere(clause.what, topic, options.most_places, random);
  if (clause.kind == ClauseKind::Giving) {
    clause.verb = pick(kGivingVerbs, random);
    clause.whom = draw_someone(topic, random);
  } else {
    clause.verb = pick(kTransitiveVerbs, random);
  }
  return clause;
}

}  // namespace convseq::synth
