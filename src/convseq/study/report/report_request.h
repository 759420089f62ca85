#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "convseq/study/report/report_input.h"
#include "convseq/study/study_file.h"

namespace convseq::report {

// What `convseq study report` is asked for.
struct ReportRequest {
  std::string study = {};                           // file, or the name of a built-in study
  std::vector<std::filesystem::path> scores = {};   // of this study, and of others at other sizes
  std::vector<std::filesystem::path> benches = {};  // results of `convseq bench`
  std::filesystem::path to = {};                    // folder of the report

  std::string command() const;
};

// Reads everything. A cell that several files hold counts once, as finished if one has it so. A
// result of another model than the study has under its name is left out, with a warning; two cells
// that are the same run by their names are refused.
ReportInput read_report_input(const ReportRequest& request);

}  // namespace convseq::report
