#include "convseq/study/report/system_scores.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <functional>
#include <map>
#include <optional>

#include "convseq/data/task/metric.h"

namespace convseq::report {
namespace {

const SplitResult& split_of(const CellResult& run, const Measure& measure) {
  return run.splits.at(measure.split);
}

// F1 = 2 TP / (2 TP + FP + FN), and the influence of each example on it, whose mean is 0.
std::optional<SystemScores::Run> linearised_f1(const SplitResult& split) {
  const ExampleOutcomes& outcomes = split.outcomes;
  if (outcomes.positives.empty() || outcomes.positives.size() != outcomes.values.size()) return {};
  std::vector<double> hits, errors;  // 2 TP and FP + FN
  double hit_sum = 0, error_sum = 0;
  for (size_t e = 0; e < outcomes.values.size(); ++e) {
    const bool right = outcomes.values[e] > 127;
    hit_sum += hits.emplace_back(right && outcomes.positives[e] != 0 ? 2 : 0);
    error_sum += errors.emplace_back(right ? 0 : 1);
  }
  const double total = hit_sum + error_sum, f1 = total > 0 ? hit_sum / total : 0;
  constexpr double kStoredDigits = 2e-6;  // a stored metric is rounded
  if (total == 0 || std::abs(f1 - split.metric("f1")) > kStoredDigits) return {};
  const double scale = static_cast<double>(hits.size()) / total;
  for (size_t e = 0; e < hits.size(); ++e) {
    hits[e] = f1 + (hits[e] * (1 - f1) - f1 * errors[e]) * scale;
  }
  return hits;
}

// Stored outcomes are rounded to a byte: shifted so that their mean is the metric.
SystemScores::Run plain_outcomes(const SplitResult& split, double metric) {
  SystemScores::Run run;
  double sum = 0;
  for (const uint8_t value : split.outcomes.values) sum += run.emplace_back(value / 255.0);
  const double shift = metric - sum / static_cast<double>(run.size());
  constexpr double kStoredDigits = 1e-6;
  for (double& score : run) score += std::abs(shift) > kStoredDigits ? shift : 0;
  return run;
}

SystemScores::Run run_scores(const SplitResult& split, const std::string& metric) {
  const double value = split.metric(metric);
  if (metric == split.outcomes.metric && !split.outcomes.values.empty()) {
    return plain_outcomes(split, value);
  }
  if (metric == "f1") {
    if (auto run = linearised_f1(split)) return *run;
  }
  return {value};
}

// Each run as the mean of its examples.
SystemScores run_means(SystemScores scores) {
  for (auto& group : scores.groups) {
    for (auto& run : group) {
      double sum = 0;
      for (const double score : run) sum += score;
      run = {sum / static_cast<double>(run.size())};
    }
  }
  return scores;
}

bool same_examples(const SystemScores& scores) {
  for (const auto& group : scores.groups) {
    for (const auto& run : group) {
      if (std::ssize(run) != scores.examples()) return false;
    }
  }
  return true;
}

// What `scores` makes of each run; runs that start from the same pre-training are one group, each
// run from scratch is its own.
using RunScores = std::function<std::optional<SystemScores::Run>(const CellResult&)>;
SystemScores by_pretraining(const System& system, const RunScores& scores) {
  SystemScores all;
  std::map<int64_t, size_t> groups;
  for (const CellResult* run : system.runs) {
    auto found = scores(*run);
    if (!found) continue;
    const int64_t key = system.start == Start::Scratch ? -run->seed : run->pretraining_seed;
    const auto [group, is_new] = groups.try_emplace(key, all.groups.size());
    if (is_new) {
      all.groups.emplace_back();
      all.group_ids.push_back(key);
    }
    all.groups[group->second].push_back(std::move(*found));
  }
  return all;
}

Figure figure_with(const System& system, const SystemScores& scores) {
  return {.estimate = estimate_mean(scores),
          .runs = scores.runs(),
          .pretrainings = system.pretrainings(),
          .collapsed = std::ssize(system.collapsed)};
}

// Which systems share their pre-trainings: those of a model on all tasks, unless each starts from
// scratch or from the task's own text.
int64_t run_set_of(const System& system, int64_t model, int64_t own) {
  return system.start == Start::Pretrained ? model : own;
}

}  // namespace

std::string main_metric(const System& system) {
  const SplitResult& test = system.runs.front()->splits.at("test");
  if (!test.outcomes.metric.empty() && test.has_metric(test.outcomes.metric)) {
    return test.outcomes.metric;
  }
  return test.metrics.front().first;
}

bool is_accuracy(const System& system) { return main_metric(system) == name_of(Metric::Accuracy); }

std::vector<std::string> shown_metrics(const System& system) {
  std::vector<std::string> metrics = {main_metric(system)};
  const auto add_if_there = [&](const char* metric) {
    if (metrics.front() != metric && has(system, {metric})) metrics.emplace_back(metric);
  };
  add_if_there("f1");
  if (metrics.size() > 1) add_if_there("roc_auc");
  add_if_there("squad_exact_match");
  return metrics;
}

bool has(const System& system, const Measure& measure) {
  return std::all_of(system.runs.begin(), system.runs.end(), [&](const CellResult* run) {
    return run->splits.contains(measure.split) &&
           split_of(*run, measure).has_metric(measure.metric);
  });
}

SystemScores scores_of(const System& system, const Measure& measure) {
  SystemScores scores = by_pretraining(system, [&](const CellResult& run) {
    return std::optional(run_scores(split_of(run, measure), measure.metric));
  });
  return same_examples(scores) ? scores : run_means(scores);
}

Figure category_figure(const System& system, const std::string& split,
                       const std::string& category) {
  const SystemScores scores =
      by_pretraining(system, [&](const CellResult& run) -> std::optional<SystemScores::Run> {
        const auto found = run.splits.find(split);
        if (found == run.splits.end() || !found->second.categories.contains(category)) return {};
        return SystemScores::Run{found->second.categories.at(category)};
      });
  if (scores.groups.empty()) return {};
  return figure_with(system, scores);
}

Figure figure_of(const System& system, const Measure& measure) {
  return figure_with(system, scores_of(system, measure));
}

Figure figure_of(const System& system) { return figure_of(system, {main_metric(system)}); }

Estimate difference_of(const System& first, const System& second, const Measure& measure,
                       double confidence) {
  SystemScores a = scores_of(first, measure), b = scores_of(second, measure);
  if (a.examples() != b.examples()) {
    a = run_means(std::move(a));
    b = run_means(std::move(b));
  }
  return estimate_difference(a, b, confidence);
}

Estimate mean_over_tasks(const std::vector<SignedSystems>& terms) {
  std::deque<SystemScores> scores;  // a deque: references stay valid
  std::vector<WeightedSystem> sum;
  const auto tasks = std::ssize(terms.front().systems), count = std::ssize(terms);
  for (int64_t task = 0; task < tasks; ++task) {
    std::vector<SystemScores> found;
    for (const SignedSystems& term : terms) {
      const System& system = *term.systems[static_cast<size_t>(task)];
      found.push_back(scores_of(system, {main_metric(system)}));
    }
    const bool paired = std::all_of(found.begin(), found.end(), [&](const SystemScores& each) {
      return each.examples() == found.front().examples();
    });
    for (int64_t term = 0; term < count; ++term) {
      const SignedSystems& own = terms[static_cast<size_t>(term)];
      SystemScores& own_scores = found[static_cast<size_t>(term)];
      scores.push_back(paired ? std::move(own_scores) : run_means(std::move(own_scores)));
      sum.push_back(
          {&scores.back(), own.sign / static_cast<double>(tasks), task,
           run_set_of(*own.systems[static_cast<size_t>(task)], -1 - term, count * task + term)});
    }
  }
  return estimate_sum(sum);
}

Estimate mean_over_tasks(const std::vector<const System*>& first,
                         const std::vector<const System*>& second) {
  if (second.empty()) return mean_over_tasks(std::vector<SignedSystems>{{first}});
  return mean_over_tasks(std::vector<SignedSystems>{{first}, {second, -1}});
}

}  // namespace convseq::report
