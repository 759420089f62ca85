#pragma once

#include "convseq/study/report/document.h"
#include "convseq/study/report/report_input.h"

namespace convseq::report {

// The report of a study: the paper's questions answered from the scores, every figure with its
// interval and its runs.
Document study_document(const ReportInput& input);

// Writes report.md, report.html and plots/*.svg into `folder`.
void write_study_report(const ReportInput& input, const std::filesystem::path& folder);

BenchFile read_bench_file(const std::filesystem::path& path);

}  // namespace convseq::report
