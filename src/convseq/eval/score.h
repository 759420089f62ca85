#pragma once

#include <map>
#include <optional>

#include "convseq/eval/metric.h"

namespace convseq {

struct Score {
  Metric metric = Metric::Accuracy;
  double value = 0;
  std::optional<Interval> interval = {};  // none without resamples
  int64_t count = 0;                      // number of examples
};

struct ScoreOptions {
  std::vector<Metric> metrics = {Metric::Accuracy};
  LabelSet labels = {};
  BootstrapOptions bootstrap = {};
};

// One score per metric, in the order of the metrics.
std::vector<Score> score(std::span<const Outcome> outcomes, const ScoreOptions& options);

// The same for each category; nothing if no outcome has a category.
std::map<std::string, std::vector<Score>> score_by_category(std::span<const Outcome> outcomes,
                                                            const ScoreOptions& options);

// The difference in score of two systems on the same examples, first − second, with its paired
// bootstrap interval.
std::vector<Score> score_difference(std::span<const Outcome> first, std::span<const Outcome> second,
                                    const ScoreOptions& options);

}  // namespace convseq
