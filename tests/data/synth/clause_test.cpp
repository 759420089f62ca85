#include "convseq/data/synth/grammar/clause.h"

#include <gtest/gtest.h>

#include "convseq/data/synth/grammar/prose.h"

namespace convseq::synth {

TEST(Clause, IsReadBackFromItsSentence) {
  for (uint64_t seed = 0; seed < 5000; ++seed) {
    Random random(seed);
    const Clause clause =
        draw_clause(pick(kTopics, random), {.depth = 4, .most_places = 4}, random);
    const std::string sentence = sentence_of(clause);
    const auto parsed = parse_clause(sentence);
    ASSERT_TRUE(parsed) << sentence;
    ASSERT_EQ(logical_form_of(*parsed), logical_form_of(clause)) << sentence;
    ASSERT_EQ(sentence_of(*parsed), sentence);
  }
}

TEST(Clause, HasTheLogicalFormOfItsKind) {
  const std::vector<std::pair<std::string, std::string>> table = {
      {"mira rested", "rest ( who mira )"},
      {"the potter found a rope", "find ( who the potter , what a rope )"},
      {"a rope was found by the potter", "find ( who the potter , what a rope )"},
      {"mira sent a rope near the gate under the tower to karl",
       "send ( who mira , what a rope ( near the gate ( under the tower ) ) , whom karl )"},
      {"mira said that karl thought that the potter rested",
       "say ( who mira , that think ( who karl , that rest ( who the potter ) ) )"},
  };
  for (const auto& [sentence, form] : table) {
    const auto clause = parse_clause(sentence);
    ASSERT_TRUE(clause) << sentence;
    EXPECT_EQ(logical_form_of(*clause), form);
  }
}

TEST(Clause, IsNotFoundInOtherWords) {
  for (const char* text :
       {"", "the", "the potter", "rested", "mira the", "mira rested rested", "mira said that",
        "mira said karl rested", "a rope was found", "a rope was rested by karl",
        "mira sent a rope", "mira said that karl", "the potter near", "was was was"}) {
    EXPECT_FALSE(parse_clause(text)) << text;
  }
}

}  // namespace convseq::synth
