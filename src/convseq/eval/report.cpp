#include "convseq/eval/report.h"

#include "convseq/text/characters.h"

namespace convseq {
namespace {

// JSON must be UTF-8; a model may generate any bytes.
std::string valid(const std::string& text) { return utf8_of(characters_of(text)); }

void add_interval(Json& json, const std::optional<Interval>& interval) {
  if (!interval) return;
  json["low"] = interval->low;
  json["high"] = interval->high;
}

Json to_json(const TokenScore& score) {
  Json json = {{"nll", score.total.mean()}};
  add_interval(json, score.mean_interval);
  json["perplexity"] = score.total.perplexity();
  json["accuracy"] = score.total.accuracy();
  json["tokens"] = score.total.tokens;
  return json;
}

}  // namespace

Json to_json(const std::vector<Score>& scores) {
  Json list = Json::array();
  for (const Score& score : scores) {
    Json json = {{"metric", name_of(score.metric)}, {"value", score.value}};
    add_interval(json, score.interval);
    json["count"] = score.count;
    list.push_back(std::move(json));
  }
  return list;
}

Report make_report(std::span<const Outcome> outcomes, const ScoreOptions& options) {
  Report report{.scores = score(outcomes, options),
                .by_category = score_by_category(outcomes, options),
                .collapse = find_collapse(outcomes)};
  if (options.labels.all.empty()) return report;
  Confusion confusion = confusion_of(outcomes);
  report.classes = class_scores(confusion, options.labels.all);
  if (options.labels.kind == LabelKind::Multi) return report;
  report.majority = majority_of(confusion);
  report.confusion = std::move(confusion);
  return report;
}

Json to_json(const Report& report) {
  Json json = {{"scores", to_json(report.scores)}};
  for (const auto& [category, scores] : report.by_category) {
    json["categories"][valid(category)] = to_json(scores);
  }
  for (const auto& [truth, answers] : report.confusion) {
    for (const auto& [answer, count] : answers)
      json["confusion"][valid(truth)][valid(answer)] = count;
  }
  for (const ClassScore& each : report.classes) {
    json["classes"].push_back({{"label", valid(each.label)},
                               {"precision", each.precision},
                               {"recall", each.recall},
                               {"f1", each.f1},
                               {"support", each.support},
                               {"answered", each.answered}});
  }
  if (report.majority) {
    json["majority"] = {{"label", valid(report.majority->label)},
                        {"share", report.majority->share}};
  }
  if (report.tokens) json["tokens"] = to_json(*report.tokens);
  if (report.collapse) json["collapse"] = valid(report.collapse->message());
  return json;
}

}  // namespace convseq
