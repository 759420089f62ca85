#include "convseq/study/report/own_results.h"

#include <gtest/gtest.h>

#include "convseq/base/error.h"
#include "convseq/study/report/report_request.h"
#include "convseq/study/report/study_report.h"
#include "report_fixture.h"
#include "temp_folder.h"

namespace convseq::report {
namespace {

constexpr const char* kScores = "scores.jsonl";

bool is_large(const CellResult& result) { return result.inputs["model"]["d_model"] == 512; }

// The message of the Error with which repeated runs are refused; empty: they are not.
std::string refusal_of(const std::vector<CellResult>& results) {
  try {
    refuse_repeated_runs(results);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST(ReportResults, OfTheStudysModelsAndOfOtherSizesAreKept) {
  ReportInput input = testing::example_study();
  const size_t all = input.results.size();
  EXPECT_TRUE(leave_out_other_models(input).empty());
  EXPECT_EQ(input.results.size(), all);
  EXPECT_EQ(refusal_of(input.results), "");
}

TEST(ReportResults, OfAnotherModelUnderTheSameNameAreLeftOutAndCounted) {
  ReportInput input = testing::example_study();
  size_t own = 0;
  for (CellResult& result : input.results) {
    const bool old = result.model == "light" && !is_large(result);
    if (old) result.inputs["model"]["kernel_sizes"] = 15;
    own += !old;
  }
  const size_t others = input.results.size() - own;
  const auto lines = leave_out_other_models(input);
  EXPECT_EQ(input.results.size(), own);
  ASSERT_EQ(lines.size(), 1);
  EXPECT_EQ(lines[0], fmt::format("{} results of light, whose model is not the study's: "
                                  "kernel_sizes (15, 7)",
                                  others));
}

TEST(ReportResults, ThatCannotBeReadAsAModelAreLeftOut) {
  ReportInput input = testing::example_study();
  for (CellResult& result : input.results) result.inputs["model"]["gates"] = 2;
  for (const std::string& line : leave_out_other_models(input)) {
    EXPECT_NE(line.find("gates"), line.npos) << line;
  }
  for (const CellResult& result : input.results) EXPECT_TRUE(is_large(result));
}

TEST(ReportResults, OfUnknownInputsAreKept) {
  ReportInput input = testing::example_study();
  for (CellResult& result : input.results) result.inputs = nullptr;
  EXPECT_TRUE(leave_out_other_models(input).empty());
  EXPECT_EQ(input.results.size(), testing::example_study().results.size());
}

TEST(ReportResults, LeftOutAreNamedInTheReport) {
  const convseq::testing::TempFolder folder;
  std::vector<CellResult> results = read_scores(testing::kFolder / kScores);
  for (CellResult& result : results) {
    if (result.model == "dynamic") result.inputs["model"]["norm"] = "pre_rms_norm";
  }
  write_scores(folder / kScores, results);
  const ReportInput input = read_report_input({.study = "mini", .scores = {folder / kScores}});
  ASSERT_EQ(input.left_out.size(), 1);
  const std::string text = to_markdown(study_document(input));
  EXPECT_NE(text.find("\nLeft out: " + input.left_out[0] + ".\n"), text.npos);
  EXPECT_EQ(text.find("| dynamic | d="), text.npos);
}

TEST(ReportResults, RefuseASeedThatTwoCellsHave) {
  ReportInput input = testing::example_study();
  CellResult other = input.results[3];
  ASSERT_EQ(other.kind, CellKind::Finetune);
  other.id = "0123456789abcdef";
  other.inputs["settings"]["epochs"] = 6;
  input.results.push_back(other);
  const std::string message = refusal_of(input.results);
  for (const std::string& word : {std::string("01234567"), input.results[3].id.substr(0, 8),
                                  other.model, other.task, std::string("settings")}) {
    EXPECT_NE(message.find(word), message.npos) << word << " in " << message;
  }
}

TEST(ReportResults, RefuseASeedThatWasChosenAtTwoRates) {
  ReportInput input = testing::example_study();
  const auto chosen = std::find_if(input.results.begin(), input.results.end(),
                                   [](const CellResult& result) { return result.chosen; });
  CellResult other = *chosen;
  other.id = "0123456789abcdef";
  other.learning_rate = 0.01;
  input.results.push_back(other);
  EXPECT_NE(refusal_of(input.results), "");
  input.results.back().chosen = false;
  EXPECT_EQ(refusal_of(input.results), "");
}

TEST(ReportResults, RefuseAPretrainingThatTwoCellsHave) {
  ReportInput input = testing::example_study();
  const auto first = std::find_if(input.results.begin(), input.results.end(),
                                  [](const auto& each) { return each.kind == CellKind::Pretrain; });
  CellResult other = *first;
  other.id = "0123456789abcdef";
  input.results.push_back(other);
  EXPECT_NE(refusal_of(input.results).find("what their inputs do not name"), std::string::npos);
}

TEST(ReportResults, OfTheRepositoryAreAllOfTheirStudy) {
  const std::filesystem::path results = std::filesystem::path(CONVSEQ_SOURCE_DIR) / "results";
  for (const char* study : {"mini", "demo"}) {
    const auto scores = results / study / kScores;
    if (!std::filesystem::exists(scores)) continue;
    const ReportInput input = read_report_input({.study = study, .scores = {scores}});
    EXPECT_EQ(input.results.size(), read_scores(scores).size()) << study;
  }
}

}  // namespace convseq::report
