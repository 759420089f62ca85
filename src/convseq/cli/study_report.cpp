#include "convseq/study/report/study_report.h"

#include <fmt/format.h>

#include "convseq/cli/commands.h"
#include "convseq/study/report/report_request.h"

namespace convseq::cli {
namespace {

namespace fs = std::filesystem;

struct StudyReportFlags {
  std::string study;
  std::string out;  // empty: studies/NAME
  std::string to;   // empty: the folder of the study
  std::vector<std::string> scores, benches;
};

void write_report(const StudyReportFlags& flags) {
  const fs::path folder =
      flags.out.empty() ? fs::path("studies") / Study::load(flags.study).name : fs::path(flags.out);
  report::ReportRequest request{.study = flags.study,
                                .to = flags.to.empty() ? folder : fs::path(flags.to)};
  request.scores.assign(flags.scores.begin(), flags.scores.end());
  if (request.scores.empty()) request.scores = {folder / "scores.jsonl"};
  request.benches.assign(flags.benches.begin(), flags.benches.end());
  report::write_study_report(report::read_report_input(request), request.to);
  fmt::print("{}\n{}\n", (request.to / "report.md").string(),
             (request.to / "report.html").string());
}

}  // namespace

void add_study_report(CLI::App& study) {
  const auto flags = std::make_shared<StudyReportFlags>();
  CLI::App* command = study.add_subcommand(
      "report", "Write report.md, report.html and plots from the scores of a study");
  command->add_option("STUDY,--study", flags->study, "Study file, or the name of a built-in study")
      ->required();
  command->add_option("--out", flags->out, "Folder of the study (default: studies/NAME)");
  command->add_option("--scores", flags->scores,
                      "scores.jsonl files: of this study, and of studies with the same models at "
                      "other sizes (default: the one in the study's folder)");
  command->add_option("--bench", flags->benches,
                      "Benchmark results to show beside the scores: bench/results/length-*.json, "
                      "decode-*.json, cpu-*.json");
  command->add_option("--to", flags->to, "Folder of the report (default: that of the study)");
  command->footer(
      "Example:\n  convseq study report mini --scores results/mini/scores.jsonl --to results/mini");
  command->callback([flags] { write_report(*flags); });
}

}  // namespace convseq::cli
