#include "convseq/study/report/sections/comparison.h"

#include <gtest/gtest.h>

#include "report_fixture.h"

namespace convseq::report {
namespace {

// Pre-trained against scratch on the tasks of the made-up study.
Comparison gain_of(const Context& context, const std::string& name) {
  const Model* model = context.input.model(name);
  std::vector<TaskPair> pairs;
  for (const std::string& task : context.tasks(kMainQuestions)) {
    pairs.push_back({task, context.find(*model, Start::Pretrained, task),
                     context.find(*model, Start::Scratch, task)});
  }
  return compare(*model, std::move(pairs));
}

}  // namespace

TEST(ReportComparison, CountsEveryTaskOnce) {
  const ReportInput input = testing::example_study();
  const Systems systems(input);
  const Comparison gain = gain_of({input, systems}, "light");
  EXPECT_EQ(gain.higher, (std::vector<std::string>{"sst2", "jigsaw_wiki", "cogs"}));
  EXPECT_TRUE(gain.lower.empty());
  EXPECT_TRUE(gain.undecided.empty());
  EXPECT_EQ(gain_text(gain),
            fmt::format("light on 3 of 3 tasks (mean {}, over the 2 with accuracy {})",
                        difference_text(gain.mean), difference_text(*gain.accuracy)));
}

TEST(ReportComparison, OfASystemWithItselfIsUndecided) {
  const ReportInput input = testing::example_study();
  const Systems systems(input);
  const Context context{input, systems};
  const Model* model = input.model("light");
  const System* system = context.find(*model, Start::Pretrained, "sst2");
  const Comparison same = compare(*model, {{"sst2", system, system}});
  EXPECT_EQ(same.undecided, (std::vector<std::string>{"sst2"}));
  EXPECT_EQ(standing_text(same),
            "light is higher on 0, lower on 0 and undecided on 1 of 1 tasks (mean " +
                difference_text(same.mean) + ")");
}

TEST(ReportComparison, SaysWhereOnlyOnePretrainingStandsBehindIt) {
  ReportInput input = testing::example_study();
  EXPECT_FALSE(gain_of({input, Systems(input)}, "light").has_single_pretraining());
  std::erase_if(input.results, [](const CellResult& run) {
    return run.kind == CellKind::Finetune && run.task == "sst2" && run.pretraining_seed == 2;
  });
  const Systems systems(input);
  const Comparison gain = gain_of({input, systems}, "light");
  EXPECT_TRUE(gain.has_single_pretraining());
  EXPECT_NE(gain_text(gain).find("; one pre-training only)"), std::string::npos);
}

TEST(ReportComparison, DecidesLessTheMoreComparisonsShareTheLevel) {
  const ReportInput input = testing::example_study();
  const Systems systems(input);
  const Comparison gain = gain_of({input, systems}, "dynamic");
  EXPECT_EQ(gain.decided_among(1), std::ssize(gain.higher) + std::ssize(gain.lower));
  EXPECT_GE(gain.decided_among(1), gain.decided_among(9));
  EXPECT_EQ(gain.decided_among(1'000'000'000), 0);
}

TEST(ReportComparison, HasAMeanOfTheAccuraciesBesideThatOfAllMetrics) {
  const ReportInput input = testing::example_study();
  const Systems systems(input);
  const Comparison gain = gain_of({input, systems}, "light");
  double sum = 0;
  for (const char* task : {"sst2", "jigsaw_wiki"}) {
    const TaskPair& pair = *gain.on(task);
    sum += difference_of(*pair.first, *pair.second, {"accuracy"}).value;
  }
  EXPECT_EQ(gain.tasks(), 3);  // COGS has exact match
  EXPECT_EQ(gain.accuracy_tasks, 2);
  ASSERT_TRUE(gain.accuracy.has_value());
  EXPECT_NEAR(gain.accuracy->value, sum / 2, 1e-12);
}

}  // namespace convseq::report
