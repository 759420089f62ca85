#pragma once

#include <set>

#include "convseq/study/report/report_input.h"

namespace convseq::report {

// Whether a run with test scores gave one constant answer.
bool is_collapsed(const CellResult* run);

// The runs of one model, start and task in one part, at the learning rate that was chosen.
struct System {
  std::string part = {}, model = {}, task = {};
  Start start = Start::Scratch;
  std::string size = {};                          // "d=256, 4+4 layers"
  std::vector<const CellResult*> runs = {};       // that enter the mean, by seed
  std::vector<const CellResult*> collapsed = {};  // that gave one constant answer
  std::vector<const CellResult*> choice = {};     // the runs among which the rate was chosen
  bool counts_collapsed = false;                  // they enter the mean, too
  int64_t number = 0;                             // in the table of runs, from 1

  std::set<int64_t> pretraining_seeds() const;  // none: from scratch
  int64_t pretrainings() const { return std::ssize(pretraining_seeds()); }
};

class Systems {
 public:
  explicit Systems(const ReportInput& input);  // which must live on

  const std::vector<System>& all() const { return systems_; }  // in the order of the study file

  // In the first part that asks one of `questions`; null: no scores.
  const System* find(const std::string& model, Start start, const std::string& task,
                     const std::vector<std::string>& questions) const;

 private:
  const ReportInput& input_;
  std::vector<System> systems_;
};

std::string size_of(const ModelConfig& config);
std::string size_of(const CellResult& result);  // of its model; empty: not known

// Whether `size` is that of the study's own model, as far as both are known (null: it is not).
bool fits(const std::string& size, const Model* model);

}  // namespace convseq::report
