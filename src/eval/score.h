#pragma once

#include <map>
#include <optional>

#include "convseq/eval/metric.h"

namespace convseq {

struct Score {
  Metric metric = Metric::Accuracy;
  double value = 0;
  std::optional<Interval> interval = {};  // none where no resamples were asked for
  int64_t count = 0;                      // of examples
};

struct ScoreOptions {
  std::vector<Metric> metrics = {Metric::Accuracy};
  LabelSet labels = {};
  BootstrapOptions bootstrap = {};
};

// One score a metric, in their order.
std::vector<Score> score(std::span<const Outcome> outcomes, const ScoreOptions& options);

// The same within each category that occurs; nothing where no outcome has one.
std::map<std::string, std::vector<Score>> score_by_category(std::span<const Outcome> outcomes,
                                                            const ScoreOptions& options);

// Two systems on the same examples: how much higher `first` scores, with the paired bootstrap
// interval. An interval without 0 says that the difference is more than the choice of examples.
std::vector<Score> score_difference(std::span<const Outcome> first, std::span<const Outcome> second,
                                    const ScoreOptions& options);

}  // namespace convseq
