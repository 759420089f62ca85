#pragma once

#include <map>
#include <optional>

#include "convseq/study/report/figures.h"
#include "convseq/study/report/report_input.h"

namespace convseq::report {

// The runs of one model, start and task in one part, at the learning rate that was chosen.
struct System {
  std::string part = {}, model = {}, task = {};
  Start start = Start::Scratch;
  std::string size = {};                          // "d=256, 4+4 layers"
  std::vector<const CellResult*> runs = {};       // that enter the mean, by seed
  std::vector<const CellResult*> collapsed = {};  // that do not, unless all collapsed
  std::vector<const CellResult*> choice = {};     // the runs among which the rate was chosen
  int64_t number = 0;                             // in the table of runs, from 1

  int64_t pretrainings() const;  // different seeds; 0: from scratch
  bool all_collapsed() const { return !collapsed.empty() && runs.size() == collapsed.size(); }
};

// What is averaged over: the metric of a split.
struct Measure {
  std::string metric;
  std::string split = "test";
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

// The metric by which a task is reported first, and those beside it.
std::string main_metric(const System& system);
std::vector<std::string> shown_metrics(const System& system);

bool has(const System& system, const Measure& measure);

// The outcomes by pre-training, run and example. F1 is linearised: each example's influence on it
// (the infinitesimal jackknife). Of another metric that is no mean over examples the values alone.
SystemScores scores_of(const System& system, const Measure& measure);

Figure figure_of(const System& system, const Measure& measure);
Figure figure_of(const System& system);  // the main metric on the test split
Estimate difference_of(const System& first, const System& second, const Measure& measure);

// The mean over tasks of first − second, or of first alone where `second` is empty: the main
// metrics on the test splits.
Estimate mean_over_tasks(const std::vector<const System*>& first,
                         const std::vector<const System*>& second = {});

}  // namespace convseq::report
