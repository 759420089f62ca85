#pragma once

#include "base/json_file.h"
#include "eval/class_scores.h"
#include "eval/collapse.h"
#include "eval/confusion.h"
#include "eval/score.h"
#include "eval/token_nll.h"

namespace convseq {

// All that is said of a model's answers to one split: by `evaluate`, and by validation.
struct Report {
  std::vector<Score> scores = {};  // the first is the one by which models are chosen
  std::map<std::string, std::vector<Score>> by_category = {};
  // Only of tasks with labels:
  Confusion confusion = {};
  std::vector<ClassScore> classes = {};
  std::optional<Majority> majority = {};
  std::optional<Collapse> collapse = {};
  std::optional<TokenScore> tokens = {};  // where the targets' likelihood was computed too
};

Report make_report(std::span<const Outcome> outcomes, const ScoreOptions& options);
Json to_json(const Report& report);

}  // namespace convseq
