#include "convseq/study/report/study_report.h"

#include <fmt/format.h>

#include <algorithm>

#include "convseq/base/contains.h"
#include "convseq/base/counted.h"
#include "convseq/base/file/atomic_file.h"
#include "convseq/study/report/sections/sections.h"

namespace convseq::report {
namespace {

constexpr const char* kReading =
    "How to read a figure: 84.3 ± 1.2 (6/3) is the mean test score in percent of 6 runs from 3 "
    "pre-trainings, with its 95% interval; (5) means 5 runs from scratch, each with its own "
    "weights. The interval counts runs and examples (random effects, Student's t), and "
    "pre-trainings where there are several; after a single pre-training it does not count how "
    "another one would have turned out. With two runs Student's t is up to 12.7, so the interval "
    "is wide. Differences are paired on the examples. \"Higher\" and \"lower\" mean that the "
    "interval of the difference excludes 0, \"undecided\" that it does not. Of true zeros one in "
    "twenty would be called a difference by chance; the tables over all tasks also count what "
    "remains after Bonferroni's correction for all their comparisons. A mean over tasks is that of "
    "the metrics in the table of runs, which may be exact match or F1 beside accuracies: one such "
    "task can decide it, so the mean over the tasks with accuracy stands beside it.";

constexpr const char* kMarks =
    "Marks: †n: n collapsed runs, {}; ‡: one run, also "
    "of one system in a difference or a mean, whose spread the interval does not count; °: no "
    "outcomes per example for this metric, so the interval counts runs only; >50: wider than the "
    "scale; –: not there. F1 enters by each example's "
    "influence on it. The numbers under \"runs\" are rows of the table of runs, which names the "
    "cells in scores.jsonl.";

// What the report is made from, what it finds, and how to read it.
Section opening(const Context& context, const std::vector<Section>& sections) {
  const ReportInput& input = context.input;
  int64_t finished = 0, failed = 0, collapsed = 0, pretrained = 0;
  for (const CellResult& result : input.results) {
    failed += !result.failed.empty();
    if (!result.failed.empty()) continue;
    pretrained += result.kind == CellKind::Pretrain;
    if (result.kind != CellKind::Finetune) continue;
    ++finished;
    const auto test = result.splits.find("test");
    collapsed += test != result.splits.end() && test->second.collapsed;
  }
  Section section;
  if (!input.description.empty()) section.blocks.emplace_back(Paragraph{input.description});
  section.blocks.emplace_back(Paragraph{input.command, true});
  section.blocks.emplace_back(Paragraph{fmt::format(
      "{} and {}, of which {} collapsed; {} failed.", counted(pretrained, "pre-training"),
      counted(finished, "fine-tuning run"), collapsed, counted(failed, "cell"))});
  for (const std::string& line : input.left_out) {
    section.blocks.emplace_back(Paragraph{fmt::format("Left out: {}.", line)});
  }
  for (const Section& other : sections) {
    if (other.answer.empty()) continue;
    section.blocks.emplace_back(Paragraph{fmt::format("{}: {}", other.topic(), other.answer)});
  }
  Table parts = parts_table(context);
  if (!parts.rows.empty()) section.blocks.emplace_back(std::move(parts));
  section.blocks.emplace_back(Paragraph{kReading});
  section.blocks.emplace_back(Paragraph{
      fmt::format(kMarks, input.count_collapsed ? "which count in the mean"
                                                : "left out of the mean unless all collapsed")});
  return section;
}

}  // namespace

bool Part::asks(const std::vector<std::string>& any) const {
  return std::any_of(any.begin(), any.end(),
                     [&](const std::string& question) { return contains(questions, question); });
}

const Model* ReportInput::model(const std::string& wanted) const {
  const auto found = std::ranges::find(models, wanted, &Model::name);
  return found == models.end() ? nullptr : &*found;
}

Document study_document(const ReportInput& given) {
  ReportInput input = given;
  sort_results(input.results);
  const Systems systems(input);
  const Context context{input, systems};
  std::vector<Section> sections;
  for (const auto make :
       {gain_section, paper_section, cost_section, attention_section, convolution_section,
        scale_section, token_section, ablation_section, distance_section, split_section,
        curve_section, problem_section, run_section}) {
    Section section = make(context);
    if (section.blocks.empty())
      section.blocks.emplace_back(Paragraph{"No scores for this section."});
    sections.push_back(std::move(section));
  }
  sections.insert(sections.begin(), opening(context, sections));
  return {fmt::format("Study: {}", input.name), std::move(sections)};
}

void write_study_report(const ReportInput& input, const std::filesystem::path& folder) {
  const Document document = study_document(input);
  std::filesystem::create_directories(folder / "plots");
  for (const Section& section : document.sections) {
    for (const Block& block : section.blocks) {
      if (const auto* plot = std::get_if<Plot>(&block)) {
        write_file_atomically(folder / "plots" / plot->name, plot->svg);
      }
    }
  }
  write_file_atomically(folder / "report.html", to_html(document));
  write_file_atomically(folder / "report.md", to_markdown(document));
}

BenchFile read_bench_file(const std::filesystem::path& path) {
  const JsonObject file = JsonObject::from_file(path);
  if (!file.has("results") || !file.json().at("results").is_array()) {
    file.refuse("results", "is missing; allowed: a list of benchmark results");
  }
  return {path.filename().string(), file.json()};
}

}  // namespace convseq::report
