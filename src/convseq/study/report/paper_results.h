#pragma once

#include <optional>
#include <string>
#include <vector>

#include "convseq/spec/mixer_kind.h"
#include "convseq/study/result.h"

namespace convseq::report {

// A column of the printed table (Tay et al. 2021, table 1), and our task that comes closest to it.
struct PaperColumn {
  const char* title;   // as printed
  const char* task;    // ours
  const char* metric;  // ours
};

const std::vector<PaperColumn>& paper_columns();

// In percent; none: not printed.
std::optional<double> paper_score(MixerKind mixer, Start start, const std::string& task,
                                  const std::string& metric);

}  // namespace convseq::report
