#include "convseq/eval/squad_answer.h"

#include <gtest/gtest.h>

#include "convseq/base/file/json_file.h"

namespace convseq {

TEST(SquadAnswer, EqualsThePythonRules) {
  const auto goldens = read_json_file(std::filesystem::path(CONVSEQ_SOURCE_DIR) /
                                      "tests/goldens/squad_answers.json");
  ASSERT_GT(goldens.size(), 30u);
  for (const Json& golden : goldens) {
    const auto answer = golden.at("answer").get<std::string>();
    const std::vector<std::string> references = {golden.at("reference").get<std::string>()};
    EXPECT_EQ(normalised_answer(answer), golden.at("normalised").get<std::string>());
    EXPECT_EQ(squad_exact_match(answer, references), golden.at("exact_match").get<double>())
        << answer;
    EXPECT_NEAR(squad_f1(answer, references), golden.at("f1").get<double>(), 1e-12) << answer;
  }
}

TEST(SquadAnswer, F1CountsSharedWords) {
  // Shared: red, dog. P = 2/3, R = 2/4, F1 = 2·2 / (3 + 4).
  EXPECT_NEAR(squad_f1("a red dog barks", {"The old red dog sleeps"}), 4.0 / 7, 1e-12);
  EXPECT_EQ(squad_f1("red dog", {"blue cat"}), 0);
}

TEST(SquadAnswer, TakesTheBestOfTheAcceptableAnswers) {
  const std::vector<std::string> references = {"in 1066", "the year 1066", "1066"};
  EXPECT_EQ(squad_exact_match("1066.", references), 1);
  EXPECT_EQ(squad_f1("1066.", references), 1);
  EXPECT_NEAR(squad_f1("about 1066", references), 2.0 / 3, 1e-12);
}

TEST(SquadAnswer, NormalFormIsItsOwnNormalForm) {
  for (const std::string text : {"The  a-an (the) End", "“The” a", "A.B. the, an"}) {
    EXPECT_EQ(normalised_answer(normalised_answer(text)), normalised_answer(text));
  }
}

}  // namespace convseq
