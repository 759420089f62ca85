#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>

#include "convseq/study/run/run_cell.h"
#include "convseq/study/run/schedule.h"
#include "convseq/study/run/worker_link.h"

namespace convseq {

// When a run of a study ends before its work is done.
struct TimeLimit {
  std::chrono::steady_clock::time_point start = std::chrono::steady_clock::now();
  double minutes = 0;  // no cell is begun after these; 0: no limit
  double grace = 1;    // minutes after which running cells are stopped

  bool may_begin() const { return minutes == 0 || passed() < minutes; }
  bool must_end() const { return minutes > 0 && passed() >= minutes + grace; }
  double left() const { return minutes - passed(); }  // minutes in which cells may begin

 private:
  double passed() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() / 60;
  }
};

// How many other cells may be computed while a worker begins one. Fewer after each time that the
// memory of a shared GPU did not last.
class NeighbourLimit {
 public:
  bool is_set() const { return most_.has_value(); }
  bool allows(int64_t others) const { return !most_ || others <= *most_; }

  // The memory did not last beside so many. False: there is no other that could make room.
  bool lower_below(int64_t others) {
    if (others == 0) return false;
    most_ = std::min(most_.value_or(others), others - 1);
    return true;
  }

 private:
  std::optional<int64_t> most_ = {};
};

struct WorkerOptions {
  CellFilter only = {};
  TimeLimit limit = {};
  std::function<bool()> interrupted = [] { return false; };
  PoolLink pool = {};  // that counts the deaths of its workers
};

// Computes cells until none is left that this process could do, beside any number of others that
// do the same in the same folder. A cell that fails is recorded and stops nothing, unless it leaves
// the GPU unusable for this process: that is an Error.
void work_on(StudyPlan& plan, StudyFolder& folder, CellRunner& runner,
             const WorkerOptions& options);

// One line about a finished cell, for the log.
std::string describe(const CellResult& result);

}  // namespace convseq
