#include "convseq/data/synth/family/span_answer.h"

#include <fmt/format.h>

#include "convseq/base/error.h"
#include "convseq/data/synth/grammar/facts.h"
#include "convseq/data/synth/grammar/lexicon.h"
#include "convseq/data/synth/grammar/prose.h"
#include "convseq/data/synth/grammar/words.h"

namespace convseq::synth {

SpanAnswer::SpanAnswer(const SpanAnswerOptions& options) : options_(options) {
  require(options.facts >= 2 && options.facts <= int64_t{kPersons.size()},
          "{} has {}; allowed: 2 to {}, one person each", OptionName("facts"), options.facts,
          kPersons.size());
  require(options.sentences >= 0, "{} is {}; allowed: 0 or more", OptionName("sentences"),
          options.sentences);
}

TaskDescription SpanAnswer::describe() const {
  return {.name = fmt::format("span_{}", options_.facts),
          .meaning = "Where is the thing hidden, in the words of the context?",
          .source = "{context} question: {question}",
          .target_field = "answer",
          .metrics = {Metric::SquadExactMatch, Metric::SquadF1},
          .distinct_fields = {"context"}};
}

std::vector<Example> SpanAnswer::draw_group(Split, int64_t, Random& random) const {
  const Topic& topic = pick(kTopics, random);
  auto persons = kPersons;
  random.shuffle(persons);
  std::vector<HidingPlace> facts;
  for (int64_t i = 0; i < options_.facts; ++i) {
    facts.push_back({.owner = persons[static_cast<size_t>(i)].name,
                     .thing = pick(topic.things, random),
                     .place = place_phrase(topic, random)});
  }
  const size_t first = random.below(facts.size());
  size_t second = first;
  while (second == first) second = random.below(facts.size());
  while (facts[second].place == facts[first].place)
    facts[second].place = place_phrase(topic, random);

  std::vector<std::string> plain;
  for (size_t i = 0; i + 1 < facts.size(); ++i) {
    plain.push_back(plain_prose(topic, 6 * options_.sentences, random));
  }
  const auto context = [&] {
    std::string text = facts[0].statement();
    for (size_t i = 1; i < facts.size(); ++i) {
      text += (plain[i - 1].empty() ? "" : " ") + plain[i - 1] + " " + facts[i].statement();
    }
    return text;
  };
  std::vector<Example> group;
  for (int exchanged = 0; exchanged < 2; ++exchanged) {
    for (size_t asked : {first, second}) {
      group.push_back({.inputs = {{"context", context()}, {"question", facts[asked].question()}},
                       .target = facts[asked].place});
    }
    std::swap(facts[first].place, facts[second].place);
  }
  return group;
}

std::string SpanAnswer::solve(const Inputs& inputs) const {
  const auto asked = HidingPlace::parse_question(inputs[1].text);
  for (std::string_view sentence : sentences_of(inputs[0].text)) {
    const auto fact = HidingPlace::parse(sentence);
    if (asked && fact && fact->owner == asked->owner && fact->thing == asked->thing) {
      return fact->place;
    }
  }
  return "";
}

}  // namespace convseq::synth
