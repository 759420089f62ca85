#include "convseq/data/synth/grammar/document.h"

#include <fmt/format.h>

#include <array>

#include "convseq/base/random.h"
#include "convseq/data/synth/grammar/clause.h"
#include "convseq/data/synth/grammar/facts.h"
#include "convseq/data/synth/grammar/prose.h"
#include "convseq/data/synth/grammar/words.h"
#include "convseq/data/synth/random_streams.h"

namespace convseq::synth {
namespace {

constexpr size_t kCast = 3;

class DocumentWriter {
 public:
  explicit DocumentWriter(Random& random)
      : random_(random),
        topic_(draw(kTopics)),
        mood_(chance(0.5, random) ? Polarity::Kind : Polarity::Rude) {
    auto persons = kPersons;
    random_.shuffle(persons);
    std::copy_n(persons.begin(), kCast, cast_.begin());
    for (size_t i = 0; i < 2; ++i) {
      possessions_[i] = {
          .owner = cast_[i].name, .thing = draw(kBelongings), .colour = draw(kColours)};
      hiding_places_[i] = {.owner = cast_[i + 1].name,
                           .thing = draw(topic_.things),
                           .place = place_phrase(topic_, random_)};
    }
  }

  std::string write() {
    for (const Possession& fact : possessions_) say(fact.statement());
    judge();
    judge();
    for (const HidingPlace& fact : hiding_places_) say(fact.statement());
    for (uint64_t left = 4 + random_.below(4); left > 0; --left) tell();
    judge();
    judge();
    recall();
    conclude();
    return std::move(text_);
  }

 private:
  template <class List>
  const typename List::value_type& draw(const List& list) {
    return pick(list, random_);
  }

  void say(std::string_view sentence) {
    if (!text_.empty()) text_ += ' ';
    text_ += sentence;
  }

  std::string anything() {
    switch (random_.below(4)) {
      case 0:
        return std::string(draw(cast_).name);
      case 1:
        return phrase({"the", draw(topic_.people)});
      case 2:
        return phrase({"the", draw(topic_.things)});
      default:
        return phrase({"the", draw(topic_.places)});
    }
  }

  // A judgement in the mood of the document; a negated word is of the other mood. So the context of
  // a polar word gives its polarity, and a negation matters within its clause. A plain English word
  // of the same mood stands beside it: it is frequent, hence learnt early, and gives the rare words
  // their meaning.
  void judge() {
    const std::string_view feeling = draw(feelings(mood_));
    const std::string judgement = draw_judgement();
    say(chance(0.5, random_) ? fmt::format("{} {}.", feeling, judgement)
                             : fmt::format("{}, {}.", judgement, feeling));
  }

  std::string draw_judgement() {
    const std::string subject = anything(), other = anything();
    const WordList words = polar_words(mood_);
    const std::string_view one = draw(words), two = draw(words), three = draw(words);
    const std::string_view denied = draw(polar_words(opposite(mood_)));
    const std::string_view plain = draw(kPlainAdjectives), hedge = draw(kHedges);
    const std::string_view negation = draw(kNegations), intensifier = draw(kIntensifiers);
    switch (random_.below(7)) {
      case 0:
        return fmt::format("{} was {}, {} and {}", subject, one, two, three);
      case 1:
        return fmt::format("{} was {} {} but {} and {}", subject, negation, denied, one, two);
      case 2:
        return fmt::format("everyone called {} {} {}, {} and {}", subject, intensifier, one, two,
                           three);
      case 3:
        return fmt::format("{} was {} {} {} and {}, and {} {}", subject, intensifier, hedge, one,
                           two, negation, denied);
      case 4:
        return fmt::format("the {} {} found {} {} and {}", one, draw(topic_.people), other, two,
                           three);
      case 5:
        return fmt::format("{} was {} {}, and {} was {} {} and {}", subject, negation, plain, other,
                           hedge, one, two);
      default:
        return fmt::format("{} was {} {} {}, and {} was {}, {} and {}", subject, negation, hedge,
                           denied, other, plain, one, two);
    }
  }

  // One step of the story.
  void tell() {
    const Person& person = draw(cast_);
    switch (random_.below(8)) {
      case 0:
      case 1:
        return judge();
      case 2:
      case 3:
        return say(sentence_of(draw_clause(topic_, {.depth = 2, .most_places = 3}, random_)) + ".");
      case 4: {  // a pronoun that agrees
        const std::string_view first = draw(kIntransitiveVerbs).past;
        const std::string where = place_phrase(topic_, random_);
        return say(fmt::format("{} {} {}. {} {} {}.", person.name, first, where, person.pronoun,
                               draw(kIntransitiveVerbs).past, where));
      }
      case 5: {  // the two forms of a verb
        const Verb& verb = draw(kTransitiveVerbs);
        const std::string what = anything();
        return say(fmt::format("{} wanted to {} {}, and so {} {} {}.", person.name, verb.base, what,
                               person.pronoun, verb.past, what));
      }
      case 6: {  // a number that agrees
        const std::string_view thing = draw(kBelongings), how = draw(kPlainAdjectives);
        return chance(0.5, random_)
                   ? say(fmt::format("the {}s of {} were {}.", thing, person.name, how))
                   : say(fmt::format("the {} of {} was {}.", thing, person.name, how));
      }
      default: {
        const std::string_view friend_of = draw(cast_).name;
        return say(fmt::format("the {} ( a friend of {} ) returned to the {}.", draw(topic_.people),
                               friend_of, topic_.name));
      }
    }
  }

  // Repeats the facts, which pre-training can predict only from the earlier text.
  void recall() {
    const Possession& fact = draw(possessions_);
    say(fact.restatement());
    Possession claimed = fact;
    if (chance(0.5, random_)) claimed.colour = draw(kColours);
    say(fmt::format("claim: {} answer: {}.", claimed.restatement(),
                    claimed.colour == fact.colour ? "yes" : "no"));
    const HidingPlace& hidden = draw(hiding_places_);
    say(fmt::format("question: {} answer: {}.", hidden.question(), hidden.place));
    const auto& [one, two] = possessions_;
    say(fmt::format("the {} of {} and the {} of {} had {}.", one.thing, one.owner, two.thing,
                    two.owner, one.colour == two.colour ? "the same colour" : "different colours"));
  }

  void conclude() {
    constexpr std::array kKindVerdicts = {"good", "great", "kind"};
    constexpr std::array kRudeVerdicts = {"bad", "dreadful", "rude"};
    const std::string_view verdict =
        mood_ == Polarity::Kind ? draw(kKindVerdicts) : draw(kRudeVerdicts);
    const std::string_view time = draw(kTimes);
    say(fmt::format("it was a {} {} and a {} {}.", verdict, time, draw(polar_words(mood_)), time));
  }

  Random& random_;
  const Topic& topic_;
  const Polarity mood_;
  std::array<Person, kCast> cast_;
  std::array<Possession, 2> possessions_;
  std::array<HidingPlace, 2> hiding_places_;
  std::string text_;
};

}  // namespace

std::string write_document(uint64_t seed, CorpusPart part, uint64_t index) {
  Random random(seed, {kCorpusStream, static_cast<uint64_t>(part), index});
  return DocumentWriter(random).write();
}

}  // namespace convseq::synth
