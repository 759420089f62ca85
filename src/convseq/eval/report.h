#pragma once

#include "convseq/base/file/json_file.h"
#include "convseq/eval/class_scores.h"
#include "convseq/eval/collapse.h"
#include "convseq/eval/confusion.h"
#include "convseq/eval/score.h"
#include "convseq/eval/token_nll.h"

namespace convseq {

// The evaluation of a model's answers to one split.
struct Report {
  std::vector<Score> scores = {};  // the first one selects the best model
  std::map<std::string, std::vector<Score>> by_category = {};
  std::vector<ClassScore> classes = {};  // only for tasks with labels
  // Only for tasks with one label per example:
  Confusion confusion = {};
  std::optional<Majority> majority = {};
  std::optional<Collapse> collapse = {};
  std::optional<TokenScore> tokens = {};  // if the likelihood of the targets was computed
};

Report make_report(std::span<const Outcome> outcomes, const ScoreOptions& options);
Json to_json(const Report& report);
Json to_json(const std::vector<Score>& scores);

}  // namespace convseq
