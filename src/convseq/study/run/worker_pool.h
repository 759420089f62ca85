#pragma once

#include <functional>
#include <string>
#include <vector>

#include "convseq/study/run/study_folder.h"

namespace convseq {

struct WorkerPoolOptions {
  std::vector<std::string> command;  // that starts one worker: program and arguments
  int64_t workers = 2;
  std::function<bool()> interrupted = [] { return false; };
  std::function<void()> each_minute = [] {};
};

// Starts worker processes and waits for them. A worker that dies of a signal is replaced; the cell
// it was computing is recorded as failed when that happens a second time. Returns the highest exit
// code.
int run_workers(StudyFolder& folder, const StudyPlan& plan, const WorkerPoolOptions& options);

}  // namespace convseq
