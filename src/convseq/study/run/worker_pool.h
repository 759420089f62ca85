#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "convseq/study/run/study_folder.h"
#include "convseq/study/run/worker.h"

namespace convseq {

struct WorkerPoolOptions {
  // Program and arguments of a worker that starts now.
  std::function<std::vector<std::string>()> command;
  int64_t workers = 2;
  // From the last death to the replacements: an error on a GPU that is shared by MPS ends all its
  // processes within seconds, and its server takes new ones when all of them have ended.
  std::chrono::milliseconds restart_pause = std::chrono::seconds(2);
  TimeLimit limit = {};  // no worker is started after it
  std::function<bool()> interrupted = [] { return false; };
  std::function<void()> each_minute = [] {};
};

// Starts worker processes and waits for them. A worker that is killed, or that ends with an error,
// while it computes a cell is replaced; the second time the cell is recorded as failed. One that
// does not get as far as its first cell is not replaced, nor is one that dies, for the second time,
// of a cell that the plan does not have. Deaths after an interruption do not count.
// Returns the highest exit code of workers that were not replaced; 128 + N is that of signal N.
int run_workers(StudyFolder& folder, StudyPlan& plan, const WorkerPoolOptions& options);

}  // namespace convseq
