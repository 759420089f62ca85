#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "convseq/study/plan.h"
#include "convseq/study/run/study_folder.h"

namespace convseq {

// "model=light,task=sst2": the cells that a user wants. A name given several times allows each of
// its values.
class CellFilter {
 public:
  CellFilter() = default;  // all
  explicit CellFilter(const std::vector<std::string>& conditions);
  bool takes(const Cell& cell) const;
  std::set<std::string> with_needs(const StudyPlan& plan) const;  // ids of these and what they need
  void refuse_unknown(const StudyPlan& plan) const;               // a value that no cell has
  bool names(const std::string& property) const { return allowed_.contains(property); }

 private:
  std::map<std::string, std::set<std::string>> allowed_;
};

enum class CellState {
  Failed,
  Blocked,  // a cell that it needs has failed
  Running,  // by some process
  Ready,
  Waiting,  // for a cell that it needs
};

// Whether a cell that is still to be computed needs the files of this one.
bool has_work_left(const Cell& cell, const StudyPlan& plan, const StudyFolder& folder);

// The cells that are still to be computed, in order, with their states: those that the filter
// takes, and the cells whose files they need. A pre-training whose result came from another machine
// is computed again only if a fine-tuning run needs its model: one that the filter takes, or any
// where the filter asks for "kind=pretrain".
struct ScheduledCell {
  const Cell* cell = nullptr;
  CellState state = CellState::Waiting;
};
std::vector<ScheduledCell> schedule(const StudyPlan& plan, const StudyFolder& folder,
                                    const CellFilter& filter);

}  // namespace convseq
