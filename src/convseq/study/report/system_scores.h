#pragma once

#include "convseq/study/report/figures.h"
#include "convseq/study/report/systems.h"

namespace convseq::report {

// What is averaged over: the metric of a split.
struct Measure {
  std::string metric;
  std::string split = "test";
};

// The metric by which a task is reported first, and those beside it.
std::string main_metric(const System& system);
bool is_accuracy(const System& system);  // the main metric
std::vector<std::string> shown_metrics(const System& system);

bool has(const System& system, const Measure& measure);

// The outcomes by pre-training, run and example. F1 is linearised: each example's influence on it
// (the infinitesimal jackknife). Of another metric that is no mean over examples the values alone.
SystemScores scores_of(const System& system, const Measure& measure);

// The mean metric of a category of a split; no runs: none has the category.
Figure category_figure(const System& system, const std::string& split, const std::string& category);

Figure figure_of(const System& system, const Measure& measure);
Figure figure_of(const System& system);  // the main metric on the test split
Estimate difference_of(const System& first, const System& second, const Measure& measure,
                       double confidence = kConfidence);

// One system per task, with its sign in a sum.
struct SignedSystems {
  std::vector<const System*> systems;
  double sign = 1;
};

// The mean over tasks of the signed sum of the main metrics on the test splits. All terms have the
// same tasks in the same order.
Estimate mean_over_tasks(const std::vector<SignedSystems>& terms);

// The mean over tasks of first − second, or of first alone where `second` is empty: the main
// metrics on the test splits.
Estimate mean_over_tasks(const std::vector<const System*>& first,
                         const std::vector<const System*>& second = {});

}  // namespace convseq::report
