#include "convseq/study/report/sections/comparison.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace convseq::report {
namespace {

// "; lower: a, b", or nothing.
std::string listed(const char* finding, const std::vector<std::string>& tasks) {
  return tasks.empty() ? "" : fmt::format("; {}: {}", finding, fmt::join(tasks, ", "));
}

// "2: a, b", "0"
std::string counted_tasks(const std::vector<std::string>& tasks) {
  return tasks.empty() ? "0" : fmt::format("{}: {}", tasks.size(), fmt::join(tasks, ", "));
}

std::vector<const System*> side_of(const std::vector<TaskPair>& pairs,
                                   const System* TaskPair::*side) {
  std::vector<const System*> systems;
  for (const TaskPair& pair : pairs) systems.push_back(pair.*side);
  return systems;
}

bool has_accuracy(const Comparison& comparison) { return comparison.accuracy.has_value(); }

std::string accuracy_text(const Comparison& comparison) {
  return fmt::format("{} ({} tasks)", difference_text(*comparison.accuracy),
                     comparison.accuracy_tasks);
}

// "+6.0 ± 0.5, over the 12 with accuracy +3.7 ± 0.4"
std::string mean_text(const Comparison& comparison) {
  const std::string mean = difference_text(comparison.mean);
  if (!has_accuracy(comparison)) return mean;
  return fmt::format("{}, over the {} with accuracy {}", mean, comparison.accuracy_tasks,
                     difference_text(*comparison.accuracy));
}

}  // namespace

const TaskPair* Comparison::on(const std::string& task) const {
  const auto found = std::ranges::find(pairs, task, &TaskPair::task);
  return found == pairs.end() ? nullptr : &*found;
}

std::vector<const System*> Comparison::first() const { return side_of(pairs, &TaskPair::first); }

std::vector<const System*> Comparison::second() const { return side_of(pairs, &TaskPair::second); }

bool Comparison::has_single_pretraining() const {
  return report::has_single_pretraining(first()) || report::has_single_pretraining(second());
}

int64_t Comparison::decided_among(int64_t comparisons) const {
  const double confidence = 1 - (1 - kConfidence) / static_cast<double>(comparisons);
  int64_t decided = 0;
  for (const TaskPair& pair : pairs) {
    const Measure measure{main_metric(*pair.first)};
    const Estimate difference = difference_of(*pair.first, *pair.second, measure, confidence);
    decided += finding_of(difference) != Finding::Undecided;
  }
  return decided;
}

Comparison compare(const Model& model, std::vector<TaskPair> pairs) {
  Comparison comparison{.model = &model, .pairs = std::move(pairs)};
  for (const TaskPair& pair : comparison.pairs) {
    const Finding finding = finding_of(*difference_to(*pair.first, pair.second));
    (finding == Finding::Higher  ? comparison.higher
     : finding == Finding::Lower ? comparison.lower
                                 : comparison.undecided)
        .push_back(pair.task);
  }
  comparison.mean = mean_over_tasks(comparison.first(), comparison.second());
  std::vector<TaskPair> accuracies = comparison.pairs;
  std::erase_if(accuracies, [](const TaskPair& pair) { return !is_accuracy(*pair.first); });
  comparison.accuracy_tasks = std::ssize(accuracies);
  if (!accuracies.empty() && accuracies.size() < comparison.pairs.size()) {
    comparison.accuracy = mean_over_tasks(side_of(accuracies, &TaskPair::first),
                                          side_of(accuracies, &TaskPair::second));
  }
  return comparison;
}

std::vector<Comparison> pretraining_gains(const Context& context) {
  std::vector<Comparison> found;
  for (const Model* model : context.models(kMainQuestions)) {
    std::vector<TaskPair> pairs;
    for (const std::string& task : context.tasks(kMainQuestions)) {
      const System* before = context.find(*model, Start::Scratch, task);
      const System* after = context.find(*model, Start::Pretrained, task);
      if (before != nullptr && after != nullptr) pairs.push_back({task, after, before});
    }
    if (!pairs.empty()) found.push_back(compare(*model, std::move(pairs)));
  }
  return found;
}

std::string pretrainings_text(const Comparison& comparison) {
  std::vector<int64_t> fewest = {fewest_pretrainings(comparison.first()),
                                 fewest_pretrainings(comparison.second())};
  std::erase(fewest, 0);
  return fewest.empty() ? kMissing : fmt::format("{}", fmt::join(fewest, " against "));
}

Table comparison_table(const std::string& caption, const std::string& mean_title,
                       const std::vector<Comparison>& comparisons, size_t all_tasks) {
  int64_t total = 0;
  for (const Comparison& each : comparisons) total += each.tasks();
  Table table{
      caption,
      {"model", "tasks with scores", "pre-trainings", "higher", "lower", "undecided",
       fmt::format("higher or lower after Bonferroni's correction for {} comparisons", total),
       mean_title},
      {}};
  const bool mixed = std::ranges::any_of(comparisons, has_accuracy);
  if (mixed) table.header.push_back(mean_title + ", tasks with accuracy");
  for (const Comparison& each : comparisons) {
    table.rows.push_back({each.model->name, fmt::format("{} of {}", each.tasks(), all_tasks),
                          pretrainings_text(each), std::to_string(each.higher.size()),
                          counted_tasks(each.lower), counted_tasks(each.undecided),
                          std::to_string(each.decided_among(total)), difference_text(each.mean)});
    if (mixed) table.rows.back().emplace_back(has_accuracy(each) ? accuracy_text(each) : kMissing);
  }
  return table;
}

std::string luck_text(const Comparison& comparison) {
  return luck_text(comparison.has_single_pretraining());
}

std::string gain_text(const Comparison& comparison) {
  return fmt::format("{} on {} of {} tasks (mean {}{}{}{})", comparison.model->name,
                     comparison.higher.size(), comparison.tasks(), mean_text(comparison),
                     listed("undecided", comparison.undecided), listed("lower", comparison.lower),
                     luck_text(comparison));
}

std::string standing_text(const Comparison& comparison) {
  return fmt::format(
      "{} is higher on {}, lower on {} and undecided on {} of {} tasks (mean {}{}{}{})",
      comparison.model->name, comparison.higher.size(), comparison.lower.size(),
      comparison.undecided.size(), comparison.tasks(), mean_text(comparison),
      listed("higher", comparison.higher), listed("lower", comparison.lower),
      luck_text(comparison));
}

}  // namespace convseq::report
