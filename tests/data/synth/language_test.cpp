#include <gtest/gtest.h>

#include <set>

#include "convseq/data/synth/family/polar_split.h"
#include "convseq/data/synth/grammar/facts.h"
#include "convseq/data/synth/grammar/lexicon.h"
#include "convseq/data/synth/grammar/prose.h"
#include "convseq/data/synth/grammar/words.h"

namespace convseq::synth {
namespace {

// Every word that decides something in some task.
std::vector<std::string_view> deciding_words() {
  std::vector<std::string_view> words;
  const auto add = [&](auto&& list) { words.insert(words.end(), list.begin(), list.end()); };
  for (const auto& list : {polar_words(Polarity::Kind), polar_words(Polarity::Rude)}) {
    for (std::string_view entry : list) add(words_of(entry));
  }
  add(kColours);
  add(kNegations);
  add(kIntensifiers);
  for (const Person& person : kPersons) words.push_back(person.name);
  return words;
}

}  // namespace

TEST(Lexicon, GivesEveryDecidingWordOneMeaning) {
  const auto words = deciding_words();
  EXPECT_EQ(std::set(words.begin(), words.end()).size(), words.size());
}

TEST(Lexicon, KnowsThePolarityOfEveryPolarWordAndNoOther) {
  for (Polarity polarity : {Polarity::Kind, Polarity::Rude}) {
    for (std::string_view entry : polar_words(polarity)) {
      for (std::string_view word : words_of(entry)) EXPECT_EQ(polarity_of(word), polarity) << word;
    }
  }
  for (const char* word : {"", "red", "not", "farmer", "trali grirum"}) {
    EXPECT_FALSE(polarity_of(word)) << word;
  }
}

TEST(Lexicon, HasNoWordThatWouldWantTheArticleAn) {
  std::vector<std::string_view> words(kColours.begin(), kColours.end());
  for (const Topic& topic : kTopics) {
    words.insert(words.end(), topic.people.begin(), topic.people.end());
    words.insert(words.end(), topic.things.begin(), topic.things.end());
  }
  for (Polarity polarity : {Polarity::Kind, Polarity::Rude}) {
    words.insert(words.end(), polar_words(polarity).begin(), polar_words(polarity).end());
  }
  for (std::string_view word : words) {
    EXPECT_EQ(std::string_view("aeiou").find(word[0]), std::string_view::npos) << word;
  }
}

TEST(Prose, HasExactlyTheWordsAskedForAndDecidesNothing) {
  const auto deciding = deciding_words();
  for (int64_t words = 0; words < 80; ++words) {
    Random random(static_cast<uint64_t>(words));
    const std::string prose = plain_prose(pick(kTopics, random), words, random);
    const auto found = words_of(prose);
    ASSERT_EQ(static_cast<int64_t>(found.size()), words) << prose;
    for (std::string_view word : found) {
      ASSERT_EQ(std::count(deciding.begin(), deciding.end(), word), 0) << word;
    }
  }
}

TEST(Facts, AreReadBackFromTheirSentences) {
  const Possession coat{.owner = "mira", .thing = "coat", .colour = "red"};
  for (const std::string& sentence : {coat.statement(), coat.restatement()}) {
    const auto found = Possession::parse(sentence);
    ASSERT_TRUE(found) << sentence;
    EXPECT_EQ(found->owner, "mira");
    EXPECT_EQ(found->thing, "coat");
    EXPECT_EQ(found->colour, "red");
  }
  const HidingPlace rope{.owner = "karl", .thing = "rope", .place = "under the old bridge"};
  EXPECT_EQ(HidingPlace::parse(rope.statement())->place, "under the old bridge");
  EXPECT_EQ(HidingPlace::parse_question(rope.question())->thing, "rope");
  for (const char* other : {"", "mira had red", "the coat was red", "mira waited"}) {
    EXPECT_FALSE(Possession::parse(other)) << other;
    EXPECT_FALSE(HidingPlace::parse(other)) << other;
    EXPECT_FALSE(HidingPlace::parse_question(other)) << other;
  }
}

TEST(PolarSplit, ShowsItsShareAndHidesTheRest) {
  const PolarSplit split(3, 0.25);
  std::set<std::string_view> shown, hidden;
  Random random(1);
  for (int i = 0; i < 5000; ++i) {
    const auto [kind, rude] = split.draw_shown(random);
    EXPECT_EQ(polarity_of(words_of(kind)[0]), Polarity::Kind);
    EXPECT_EQ(polarity_of(words_of(rude)[0]), Polarity::Rude);
    shown.insert(kind);
    hidden.insert(split.draw_hidden(random)[0]);
  }
  EXPECT_EQ(shown.size(), kKindWords.size() / 4);
  EXPECT_EQ(hidden.size(), kKindWords.size() - shown.size());
  for (std::string_view word : shown) EXPECT_FALSE(hidden.contains(word)) << word;
  EXPECT_FALSE(PolarSplit(3, 1.0).hides_any());
}

}  // namespace convseq::synth
