#pragma once

#include "convseq/study/report/sections/sections.h"

namespace convseq::report {

// Two systems on one task.
struct TaskPair {
  std::string task;
  const System* first;
  const System* second;
};

// One model's systems against others, task by task on the main metrics: first − second.
struct Comparison {
  const Model* model = nullptr;
  std::vector<TaskPair> pairs = {};
  std::vector<std::string> higher = {}, lower = {}, undecided = {};  // tasks
  Estimate mean = {};                                                // over the tasks
  // The mean over the tasks whose main metric is accuracy, where there are others too.
  std::optional<Estimate> accuracy = {};
  int64_t accuracy_tasks = 0;

  int64_t tasks() const { return std::ssize(pairs); }
  const TaskPair* on(const std::string& task) const;  // null: not compared on it
  std::vector<const System*> first() const;
  std::vector<const System*> second() const;
  bool has_single_pretraining() const;  // on either side

  // The tasks whose difference is still decided when the level of 5% is shared among this many
  // comparisons (Bonferroni).
  int64_t decided_among(int64_t comparisons) const;
};

Comparison compare(const Model& model, std::vector<TaskPair> pairs);  // at least one pair

// Pre-trained against scratch per model of the main comparison, on the tasks that have both.
std::vector<Comparison> pretraining_gains(const Context& context);

// The fewest of any task: "3 against 1", "3" against scratch.
std::string pretrainings_text(const Comparison& comparison);

// One row per model; `all_tasks` are those of the study.
Table comparison_table(const std::string& caption, const std::string& mean_title,
                       const std::vector<Comparison>& comparisons, size_t all_tasks);

std::string luck_text(const Comparison& comparison);
// "light on 12 of 14 tasks (mean +6.0 ± 0.5; undecided: ag_news; one pre-training only)"
std::string gain_text(const Comparison& comparison);
// "light is higher on 3, lower on 5 and undecided on 6 of 14 tasks (mean −1.0 ± 0.5; …)"
std::string standing_text(const Comparison& comparison);

}  // namespace convseq::report
