#include "convseq/study/report/sections/sections.h"

#include <gtest/gtest.h>

#include "report_fixture.h"

namespace convseq::report {
namespace {

using MakeSection = Section (*)(const Context&);

Section section_of(const ReportInput& input, MakeSection make) {
  const Systems systems(input);
  return make({input, systems});
}

std::string answer_of(const ReportInput& input, MakeSection make) {
  return section_of(input, make).answer;
}

bool has_text(const std::string& text, const std::string& part) {
  return text.find(part) != text.npos;
}

const std::string kOneOnly = "one pre-training only";

void keep_first_pretraining(ReportInput& input, const std::string& model) {
  std::erase_if(input.results, [&](const CellResult& run) {
    return run.model == model && run.pretraining_seed > 1;
  });
}

bool is_large(const CellResult& result) { return result.inputs["model"]["d_model"] == 512; }

// With a second Transformer under the name "other", which has the same scores but on cogs.
ReportInput with_two_transformers() {
  ReportInput input = testing::example_study();
  input.models.push_back(testing::make_model("other", "paper-transformer-tiny"));
  const std::vector<CellResult> results = input.results;
  for (CellResult result : results) {
    if (result.model != "transformer" || is_large(result) || result.task == "cogs") continue;
    result.model = "other";
    result.inputs = nullptr;
    for (auto& [name, split] : result.splits) {
      for (uint8_t& value : split.outcomes.values) value = 255;
      for (auto& [metric, value] : split.metrics) value = 1;
    }
    input.results.push_back(std::move(result));
  }
  input.parts[0].models.emplace_back("other");
  return input;
}

}  // namespace

TEST(ReportSections, ScaleSaysAtWhichSizeThereIsOnePretrainingOnly) {
  const ReportInput input = testing::example_study();
  const std::string answer = answer_of(input, scale_section);
  EXPECT_TRUE(has_text(answer, "at d=512, 6+6 layers (one pre-training only)")) << answer;
  EXPECT_FALSE(has_text(answer, "at d=256, 4+4 layers (one")) << answer;
  const Table table = std::get<Table>(section_of(input, scale_section).blocks.front());
  ASSERT_EQ(table.header[4], "pre-trainings");
  EXPECT_EQ(table.rows[0][4].text, "2 against 2");
  EXPECT_EQ(table.rows[1][4].text, "1 against 1");
}

TEST(ReportSections, TheBestConvolutionSaysIfItHasOnePretrainingOnly) {
  ReportInput input = testing::example_study();
  EXPECT_FALSE(has_text(answer_of(input, convolution_section), kOneOnly));
  keep_first_pretraining(input, "dynamic");  // the first, and its better pre-training
  const std::string answer = answer_of(input, convolution_section);
  EXPECT_TRUE(has_text(answer, "dynamic has the highest mean")) << answer;
  EXPECT_TRUE(has_text(answer, " (one pre-training only); against it: light")) << answer;
}

TEST(ReportSections, OwnTextSaysIfThereIsOnePretrainingOnly) {
  const std::string answer = answer_of(testing::example_study(), gain_section);
  EXPECT_TRUE(has_text(answer, "against the corpus (1 task; one pre-training only)")) << answer;
}

TEST(ReportSections, CostSaysIfAModelOrTheTransformerHasOnePretrainingOnly) {
  for (const char* model : {"light", "transformer"}) {
    ReportInput input = testing::example_study();
    EXPECT_FALSE(has_text(answer_of(input, cost_section), kOneOnly));
    keep_first_pretraining(input, model);
    const std::string answer = answer_of(input, cost_section);
    EXPECT_TRUE(has_text(answer, " (one pre-training only); dynamic")) << answer;
  }
}

TEST(ReportSections, CostHasAModelThatSharesThePretrainingOfAnother) {
  ReportInput input = testing::example_study();
  input.models.push_back(testing::make_model("light_dropout", "paper-light-mini"));
  input.models.back().changes = {"fine-tuning dropout=0.1"};
  input.parts[0].models.emplace_back("light_dropout");
  const std::vector<CellResult> results = input.results;
  for (CellResult result : results) {
    if (result.model != "light" || result.kind != CellKind::Finetune || is_large(result)) continue;
    result.id = "a" + result.id;
    result.model = "light_dropout";
    input.results.push_back(std::move(result));
  }
  const Table costs = std::get<Table>(section_of(input, cost_section).blocks.front());
  EXPECT_EQ(costs.rows.size(), 4u);
  EXPECT_EQ(costs.rows.back()[0].text, "light_dropout");
}

TEST(ReportSections, AblationsCompareModelsAfterTheSameBudgetInTextAndTables) {
  ReportInput input = testing::example_study();
  for (CellResult& result : input.results) {
    if (result.model == "light_no_glu" && result.kind == CellKind::Pretrain) {
      result.source_tokens /= 2;
    }
  }
  const Section section = section_of(input, ablation_section);
  EXPECT_EQ(section.answer, "");
  const Table scores = std::get<Table>(section.blocks[0]);
  const Table losses = std::get<Table>(section.blocks[1]);
  for (const size_t column : {5, 6, 7}) EXPECT_EQ(scores.rows[0][column].text, kMissing);
  for (const size_t column : {5, 6}) EXPECT_EQ(losses.rows[0][column].text, kMissing);
}

TEST(ReportSections, AblationsHaveNoLossWithoutAValidationCorpus) {
  ReportInput input = testing::example_study();
  for (CellResult& result : input.results) {
    if (result.model != "light_no_glu" || result.kind != CellKind::Pretrain) continue;
    result.validation.clear();
    result.nll = 0;
  }
  const Table losses = std::get<Table>(section_of(input, ablation_section).blocks[1]);
  EXPECT_EQ(losses.rows[0][4].text, kMissing);
  EXPECT_NE(losses.rows[0][5].text, kMissing);
  EXPECT_EQ(losses.rows[0][6].text, kMissing);
}

TEST(ReportSections, LossesOfAblationsSayIfTheyAreThoseOfTheFirstOfSeveralSeeds) {
  const auto caption_of = [](const ReportInput& input) {
    return std::get<Table>(section_of(input, ablation_section).blocks[1]).caption;
  };
  ReportInput input = testing::example_study();
  EXPECT_TRUE(has_text(caption_of(input), "first seed"));
  keep_first_pretraining(input, "light");
  EXPECT_FALSE(has_text(caption_of(input), "first seed"));
}

TEST(ReportSections, FewestTokensSayIfTheyAreOfOnePretrainingOnly) {
  ReportInput input = testing::example_study();
  EXPECT_EQ(answer_of(input, token_section),
            "Fewest tokens with a gain over scratch beyond the interval: sst2: light 8.0M (one "
            "pre-training only).");
  for (CellResult& result : input.results) {  // as good from scratch
    if (result.start == Start::Pretrained) continue;
    for (auto& [name, split] : result.splits) {
      for (uint8_t& value : split.outcomes.values) value = 255;
      for (auto& [metric, value] : split.metrics) value = 1;
    }
  }
  const std::string answer = answer_of(input, token_section);
  EXPECT_TRUE(has_text(answer, "sst2: light none (one pre-training only).")) << answer;
}

TEST(ReportSections, FewestTokensAreNotThoseOfASingleRun) {
  ReportInput input = testing::example_study();
  std::erase_if(input.results, [](const CellResult& result) {
    return result.start == Start::Pretrained && result.kind == CellKind::Finetune &&
           result.seed > 1;
  });
  const std::string answer = answer_of(input, token_section);
  EXPECT_TRUE(has_text(answer, "sst2: light – (single runs).")) << answer;
}

TEST(ReportSections, FewestTokensAreMissingWithoutScoresFromScratch) {
  ReportInput input = testing::example_study();
  std::erase_if(input.results,
                [](const CellResult& result) { return result.start == Start::Scratch; });
  const std::string answer = answer_of(input, token_section);
  EXPECT_TRUE(has_text(answer, "sst2: light – (no scores from scratch).")) << answer;
  EXPECT_FALSE(has_text(answer, "none"));
}

TEST(ReportSections, GeneralisationSaysIfThereIsOnePretrainingOnly) {
  ReportInput input = testing::example_study();
  EXPECT_FALSE(has_text(answer_of(input, split_section), kOneOnly));
  keep_first_pretraining(input, "light");
  const std::string answer = answer_of(input, split_section);
  EXPECT_TRUE(has_text(answer, " (one pre-training only); dynamic")) << answer;
}

TEST(ReportSections, LuckIsOfTasksWithTheSamePretrainings) {
  ReportInput input = testing::example_study();
  for (CellResult& run : input.results) {  // the pre-trainings 2 and 3 on one of three tasks
    if (run.task == "cogs" && run.pretraining_seed > 0) ++run.pretraining_seed;
  }
  const Section section = section_of(input, curve_section);
  const Table luck = std::get<Table>(section.blocks.back());
  for (const auto& row : luck.rows) {
    EXPECT_EQ(row[1].text, "2");
    EXPECT_TRUE(row[3].text.starts_with("1: ")) << row[3].text;
    EXPECT_FALSE(has_text(row[3].text, "3: ")) << row[3].text;
  }
}

TEST(ReportSections, AttentionIsComparedWithOneTransformerInTextAndTable) {
  const Section one = section_of(testing::example_study(), attention_section);
  const Section two = section_of(with_two_transformers(), attention_section);
  const auto table_in = [](const Section& section) { return std::get<Table>(section.blocks[1]); };
  const std::string difference = table_in(two).rows[0][5].text;
  EXPECT_EQ(difference, table_in(one).rows[0][5].text);
  EXPECT_TRUE(has_text(two.answer, "light (0 attention layers) " + difference)) << two.answer;
}

TEST(ReportSections, DistanceShowsTheStudysOwnSize) {
  const ReportInput input = testing::example_study();
  ReportInput more = input;
  for (CellResult result : input.results) {
    if (!result.task.starts_with("long_range")) continue;
    result.id = "a" + result.id;  // "d=128, …" comes before "d=256, …"
    result.inputs["model"]["d_model"] = 128;
    for (auto& [metric, value] : result.splits["test"].metrics) value = 0;
    more.results.push_back(std::move(result));
  }
  const auto scores = [](const Section& section) {
    std::vector<std::string> texts;
    for (const auto& row : std::get<Table>(section.blocks[0]).rows) {
      texts.insert(texts.end(), {row[2].text, row[3].text});
    }
    return texts;
  };
  EXPECT_EQ(scores(section_of(more, distance_section)),
            scores(section_of(input, distance_section)));
}

}  // namespace convseq::report
