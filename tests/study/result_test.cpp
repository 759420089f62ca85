#include "convseq/study/result.h"

#include <gtest/gtest.h>

#include "temp_folder.h"

namespace convseq {
namespace {

CellResult example() {
  CellResult result{.id = "0123456789abcdef0123456789abcdef",
                    .kind = CellKind::Finetune,
                    .parts = {"main"},
                    .model = "light",
                    .start = Start::Pretrained,
                    .task = "sst2",
                    .learning_rate = 1e-3,
                    .seed = 2,
                    .pretraining_seed = 1,
                    .chosen = true,
                    .inputs = {{"kind", "finetune"}}};
  result.steps = 100;
  result.source_tokens = 3200;
  result.seconds = 1.5;
  result.total_seconds = 2;
  SplitResult& test = result.splits["test"];
  test = {.examples = 11,
          .metrics = {{"squad_f1", 0.5}, {"squad_exact_match", 0.25}},
          .categories = {{"near", 0.75}},
          .category_examples = {{"near", 4}},
          .outcomes = {.metric = "squad_f1",
                       .values = {0, 255, 255, 0, 7, 0, 0, 255, 0, 255, 128},
                       .positives = {1, 0, 1, 0, 0, 0, 0, 0, 0, 1, 1}}};
  result.loss = {{10, 2.5}, {20, 1.25}};
  result.validation = {{20, 0.5}};
  result.commit = "abc";
  result.device = "cpu";
  result.precision = "fp32";
  result.finished = "2026-11-18T05:10:07Z";
  return result;
}

TEST(CellResult, SurvivesTheScoresFile) {
  const testing::TempFolder folder;
  CellResult failed{.id = "f", .kind = CellKind::Pretrain, .parts = {"a"}, .model = "light"};
  failed.failed = "out of memory";
  write_scores(folder / "scores.jsonl", {example(), failed});
  EXPECT_EQ(read_scores(folder / "scores.jsonl"), (std::vector{failed, example()}));
}

TEST(CellResult, RefusesAnUnknownKeyWithItsLine) {
  const testing::TempFolder folder;
  const auto path = folder.file("scores.jsonl", R"({"id":"a","kind":"finetune","sed":1})");
  EXPECT_NE(testing::message_of<Error>([&] { read_scores(path); }).find("scores.jsonl:1"),
            std::string::npos);
}

TEST(CellResult, RefusesScoresOfAnotherFormWithTheirLine) {
  const testing::TempFolder folder;
  const auto message = [&](const std::string& rest) {
    const auto path = folder.file("scores.jsonl", R"({"id":"a","kind":"finetune",)" + rest + "}\n");
    return testing::message_of<Error>([&] { read_scores(path); });
  };
  for (
      const char* rest :
      {R"("splits":{"test":{"examples":1}})", R"("splits":{"test":{"examples":1,"metrics":{}}})",
       R"("splits":{"test":{"examples":1,"metrics":[1]}})",
       R"("splits":{"test":{"examples":1,"metrics":{"f1":1},"categories":{"near":[1]}}})",
       R"("splits":{"test":{"examples":1,"metrics":{"f1":1},"categories":{"near":[1,"x"]}}})",
       R"("loss":[["x",1]])", R"("loss":[7])",
       R"("splits":{"t":{"examples":1,"metrics":{"f1":1},"outcomes":{"metric":"f1","examples":-1,"bits":""}}})"}) {
    EXPECT_NE(message(rest).find("scores.jsonl:1"), std::string::npos) << rest << message(rest);
  }
}

TEST(ExampleOutcomes, BinaryScoresTakeOneBitPerExample) {
  ExampleOutcomes outcomes{.metric = "accuracy", .values = {}, .positives = {}};
  for (int i = 0; i < 1000; ++i) outcomes.values.push_back(i % 3 == 0 ? 255 : 0);
  const Json json = outcomes.to_json();
  EXPECT_EQ(json.at("bits").get<std::string>().size(), 168);
  EXPECT_EQ(ExampleOutcomes::from_json({json, "here"}), outcomes);
}

TEST(ExampleOutcomes, Base64IsThatOfRfc4648) {
  const auto encoded = [](std::string_view text) {
    return to_base64(std::vector<uint8_t>(text.begin(), text.end()));
  };
  EXPECT_EQ(encoded(""), "");
  EXPECT_EQ(encoded("f"), "Zg==");
  EXPECT_EQ(encoded("fo"), "Zm8=");
  EXPECT_EQ(encoded("foobar"), "Zm9vYmFy");
  EXPECT_EQ(from_base64("Zm8="), (std::vector<uint8_t>{'f', 'o'}));
}

TEST(Curve, IsThinnedToItsFirstAndLastPoints) {
  Curve curve;
  for (int i = 0; i < 1000; ++i) curve.push_back({i, 1.0 * i});
  const Curve few = thinned(curve, 10);
  EXPECT_EQ(few.size(), 10);
  EXPECT_EQ(few.front(), curve.front());
  EXPECT_EQ(few.back(), curve.back());
  EXPECT_EQ(thinned(few, 10), few);
}

}  // namespace
}  // namespace convseq
