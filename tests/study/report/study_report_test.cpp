#include "convseq/study/report/study_report.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <sstream>

#include "convseq/base/file/atomic_file.h"
#include "convseq/study/report/report_request.h"
#include "report_fixture.h"
#include "temp_folder.h"

namespace convseq::report {
namespace {

// The request of the command at the top of a report.
ReportRequest request_in(const std::string& report) {
  const size_t start = report.find("```\n") + 4;
  std::istringstream words(report.substr(start, report.find('\n', start) - start));
  std::string word, value;
  words >> word >> word >> word;  // convseq study report
  ReportRequest request;
  words >> request.study;
  while (words >> word >> value) {
    if (word == "--scores") request.scores.emplace_back(value);
    if (word == "--bench") request.benches.emplace_back(value);
    if (word == "--to") request.to = value;
  }
  return request;
}

}  // namespace

TEST(StudyReport, OfTheExampleIsTheOneInTheRepository) {
  const std::string written = to_markdown(study_document(testing::example_study()));
  if (written == read_text_file(testing::kFolder / "report.md")) return;
  const auto actual = std::filesystem::temp_directory_path() / "convseq-study-report.md";
  write_file_atomically(actual, written);
  FAIL() << "report.md differs; what was written is in " << actual;
}

TEST(StudyReport, OfEveryCommittedResultIsWhatItsCommandWrites) {
  const std::filesystem::path results = std::filesystem::path(CONVSEQ_SOURCE_DIR) / "results";
  if (!std::filesystem::exists(results)) return;
  std::filesystem::current_path(CONVSEQ_SOURCE_DIR);  // where the commands are given
  for (const auto& folder : std::filesystem::directory_iterator(results)) {
    const std::filesystem::path path = folder.path() / "report.md";
    if (!std::filesystem::exists(path)) continue;
    const std::string report = read_text_file(path);
    const ReportRequest request = request_in(report);
    EXPECT_TRUE(to_markdown(study_document(read_report_input(request))) == report)
        << path << " is out of date; write it again with: " << request.command();
  }
}

TEST(StudyReport, CommandNamesWhatTheReportIsMadeFrom) {
  const ReportRequest request{
      .study = "demo", .scores = {"a.jsonl", "b.jsonl"}, .benches = {"c.json"}, .to = "out"};
  EXPECT_EQ(request.command(),
            "convseq study report demo --scores a.jsonl --scores b.jsonl --bench c.json --to out");
  EXPECT_EQ(request_in("# T\n\n```\n" + request.command() + "\n```\n").command(),
            request.command());
}

TEST(StudyReport, ReadsTheStudyAndCountsACellOnce) {
  const auto scores = testing::kFolder / "scores.jsonl";
  const ReportInput once = read_report_input({.study = "mini", .scores = {scores}});
  const ReportInput twice = read_report_input({.study = "mini", .scores = {scores, scores}});
  EXPECT_EQ(once.results.size(), read_scores(scores).size());
  EXPECT_EQ(once.results.size(), twice.results.size());
  EXPECT_TRUE(once.parts.front().asks({"RQ5"}));
  ASSERT_NE(once.model("light_no_glu"), nullptr);
  EXPECT_EQ(once.model("light_no_glu")->changes, (std::vector<std::string>{"glu=false"}));
}

TEST(StudyReport, ReadsACellAsFinishedIfItFailedInAnotherFile) {
  const convseq::testing::TempFolder folder;
  std::vector<CellResult> results = read_scores(testing::kFolder / "scores.jsonl");
  for (CellResult& result : results) result.failed = "out of memory";
  write_scores(folder / "scores.jsonl", results);
  const ReportInput input = read_report_input(
      {.study = "mini", .scores = {folder / "scores.jsonl", testing::kFolder / "scores.jsonl"}});
  EXPECT_EQ(std::count_if(input.results.begin(), input.results.end(),
                          [](const CellResult& result) { return !result.failed.empty(); }),
            1);  // it failed in both
}

TEST(StudyReport, DoesNotDependOnTheOrderOfTheScores) {
  ReportInput input = testing::example_study();
  const std::string page = to_html(study_document(input));
  std::reverse(input.results.begin(), input.results.end());
  EXPECT_EQ(to_html(study_document(input)), page);
}

TEST(StudyReport, PageIsWellFormedAndReachesForNothingOutsideItself) {
  std::string page = to_html(study_document(testing::example_study()));
  EXPECT_TRUE(testing::balanced(page));
  const std::string allowed = "http://www.w3.org/2000/svg";
  for (size_t at = page.find(allowed); at != page.npos; at = page.find(allowed)) {
    page.erase(at, allowed.size());
  }
  for (const char* word : {"http:", "https:", "src=", "<script", "<link", "@import", "url("}) {
    EXPECT_EQ(page.find(word), page.npos) << word;
  }
}

TEST(StudyReport, OpensWithTheAnswerOfEveryQuestion) {
  const Document document = study_document(testing::example_study());
  const std::string opening = to_markdown({document.title, {document.sections.front()}});
  for (const char* topic : {"RQ1", "RQ2", "RQ3", "RQ4", "RQ5", "Scale", "Ablations"}) {
    const auto section = std::find_if(document.sections.begin(), document.sections.end(),
                                      [&](const Section& each) { return each.topic() == topic; });
    ASSERT_NE(section, document.sections.end()) << topic;
    EXPECT_FALSE(section->answer.empty()) << topic;
    EXPECT_NE(opening.find(std::string("\n") + topic + ": " + section->answer), opening.npos);
  }
}

TEST(StudyReport, ComparesWithATransformerThatIsAChangedPreset) {
  ReportInput input = testing::example_study();
  for (Model& model : input.models) {
    model.changes.emplace_back("d_ff=64");
  }
  const Document document = study_document(input);
  EXPECT_EQ(document.sections[2].topic(), "RQ2");
  EXPECT_NE(document.sections[2].answer.find("light is higher on"), std::string::npos);
}

TEST(StudyReport, SaysWhatWasSetDifferentlyBetweenSizes) {
  ReportInput input = testing::example_study();
  for (CellResult& result : input.results) {
    const bool large = result.inputs["model"]["d_model"] == 512;
    result.inputs["settings"] = {{"schedule", large ? "linear" : "constant"}, {"epochs", 3}};
  }
  const std::string text = to_markdown(study_document(input));
  EXPECT_NE(text.find("fine-tuning schedule (constant, linear)"), text.npos);
  EXPECT_EQ(text.find("fine-tuning epochs"), text.npos);
}

TEST(StudyReport, NamesAMetricThatDecidesWhatTheMainOneLeavesOpen) {
  ReportInput input = testing::example_study();
  for (CellResult& result : input.results) {  // the same answers from both starts, another ranking
    if (result.task != "jigsaw_wiki" || !result.splits.contains("test")) continue;
    SplitResult& test = result.splits.at("test");
    for (uint8_t& value : test.outcomes.values) value = 255;
    const double auc = result.start == Start::Scratch ? 0.8 : 0.9;
    const double spread = 0.001 * static_cast<double>(result.seed);
    test.metrics = {{"accuracy", 1}, {"f1", 1}, {"roc_auc", auc + spread}};
  }
  const std::string answer = study_document(input).sections[1].answer;
  EXPECT_NE(answer.find("undecided: jigsaw_wiki"), answer.npos) << answer;
  EXPECT_NE(answer.find("(not corrected for the further metrics): "), answer.npos) << answer;
  EXPECT_NE(answer.find("light on jigsaw_wiki, roc_auc +10.0"), answer.npos) << answer;
}

TEST(StudyReport, SaysHowMuchOfTheStudyIsThere) {
  ReportInput input = testing::example_study();
  std::erase_if(input.results, [](const CellResult& result) { return result.model == "dynamic"; });
  const std::string text = to_markdown(study_document(input));
  EXPECT_NE(text.find("| main | RQ1, RQ2, RQ3, RQ5 | 72 | 48 | dynamic |"), text.npos);
}

TEST(StudyReport, CountsRunsOfUnknownSizeAsTheStudysOwn) {
  ReportInput input = testing::example_study();
  std::erase_if(input.results,
                [](const CellResult& result) { return result.inputs["model"]["d_model"] == 512; });
  for (CellResult& result : input.results) result.inputs = nullptr;
  const std::string text = to_markdown(study_document(input));
  EXPECT_NE(text.find("| main | RQ1, RQ2, RQ3, RQ5 | 72 | 73 | none |"), text.npos);
  EXPECT_NE(text.find("**Cost of pre-training and of one fine-tuning on each of 3 tasks"),
            text.npos);
}

TEST(StudyReport, NamesCollapsedRunsAndFailedCells) {
  const std::string text = to_markdown(study_document(testing::example_study()));
  const std::string row = "| main | dynamic | scratch | sst2 | 1 of 5 | ";
  const size_t found = text.find(row);
  ASSERT_NE(found, text.npos);
  const std::string means = text.substr(found + row.size(), 60);
  EXPECT_LT(means.find("(4)"), means.find("(5)")) << means;  // without it, with it
  EXPECT_NE(text.find("the loss is not finite at step 7"), text.npos);
}

TEST(StudyReport, WithoutScoresSaysSoInEverySection) {
  ReportInput input = testing::example_study();
  input.results.clear();
  const Document document = study_document(input);
  for (size_t i = 1; i < document.sections.size(); ++i) {
    ASSERT_EQ(document.sections[i].blocks.size(), 1) << document.sections[i].title;
    EXPECT_EQ(std::get<Paragraph>(document.sections[i].blocks[0]).text,
              "No scores for this section.");
  }
}

TEST(StudyReport, WritesThePageTheTextAndItsPlots) {
  const convseq::testing::TempFolder folder;
  write_study_report(testing::example_study(), folder.path());
  const std::string text = read_text_file(folder / "report.md");
  for (size_t at = text.find("(plots/"); at != text.npos; at = text.find("(plots/", at + 1)) {
    const std::string plot = text.substr(at + 1, text.find(')', at) - at - 1);
    EXPECT_TRUE(std::filesystem::exists(folder / plot)) << plot;
  }
  EXPECT_TRUE(std::filesystem::exists(folder / "report.html"));
}

TEST(StudyReport, ShowsBenchmarksAgainstLength) {
  ReportInput input = testing::example_study();
  const auto bench = std::filesystem::path(CONVSEQ_SOURCE_DIR) / "bench/results/length-h200.json";
  input.benches = {read_bench_file(bench)};
  const std::string text = to_markdown(study_document(input));
  EXPECT_NE(text.find("Training step: examples/s (length-h200.json"), text.npos);
  EXPECT_NE(text.find("plots/length-h200-step_examples.svg"), text.npos);
}

TEST(StudyReport, ShowsOfABenchmarkOnACpuTheAnswersOnly) {
  ReportInput input = testing::example_study();
  Json rows = Json::array();
  for (const auto& [name, unit] :
       std::map<std::string, std::string>{{"cpu_light_int8_128_batch_32", "examples/s"},
                                          {"cpu_light_int8_128_batch_1", "ms"},
                                          {"generate_light_fp32_batch_1", "tokens/s"},
                                          {"cpu_light_int8_128_batch_32_same_graph", "examples/s"},
                                          {"cpu_light_int8_128_batch_32_of_smmla", "GOP/s"},
                                          {"matmul_int8_256", "GOP/s"},
                                          {"peak_int8_smmla", "GOP/s"},
                                          {"kernel_copy", "GB/s"}}) {
    rows.push_back({{"name", name}, {"unit", unit}, {"value", 1}});
  }
  for (const Json& other : {Json(7), Json{{"name", 3}, {"value", 1}}, Json{{"value", "x"}}}) {
    rows.push_back(other);
  }
  input.benches = {{"cpu.json", {{"results", rows}}}};
  const std::string text = to_markdown(study_document(input));
  const size_t start = text.find("**Answers on a CPU (cpu.json)**");
  ASSERT_NE(start, text.npos);
  const std::string table = text.substr(start, text.find("\n\n## ", start) - start);
  EXPECT_EQ(std::count(table.begin(), table.end(), '\n'), 6) << table;  // header and three rows
  for (const char* name : {"_of_", "matmul_", "peak_", "kernel_", "_same_graph"}) {
    EXPECT_EQ(table.find(name), table.npos) << table;
  }
}

}  // namespace convseq::report
