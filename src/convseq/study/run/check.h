#pragma once

#include <optional>
#include <string>

#include "convseq/base/file/json_file.h"
#include "convseq/study/run/run_cell.h"
#include "convseq/study/run/worker.h"

namespace convseq {

// The outcome of computing a stored cell again.
struct Reproduction {
  std::string cell;  // its name
  std::string metric;
  double stored = 0, again = 0, tolerance = 0;

  bool holds() const;
  std::string describe() const;
  Json to_json() const;
  static Reproduction from_json(const Json& json);
};

// Computes the quickest fine-tuning run from scratch that has a stored result again, with the cells
// it needs, and compares the test score, which may differ by the study's tolerance: a result says
// on which kind of machine it was made, but not all that decides its last digits. Nothing if there
// is no such result, or if it was stopped.
std::optional<Reproduction> reproduce_a_cell(StudyPlan& plan, StudyFolder& folder,
                                             CellRunner& runner, const WorkerOptions& options);

}  // namespace convseq
