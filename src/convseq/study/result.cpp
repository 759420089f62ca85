#include "convseq/study/result.h"

#include <algorithm>
#include <sstream>
#include <tuple>

#include "convseq/base/file/atomic_file.h"

namespace convseq {
namespace {

const std::vector<std::string> kKeys = {
    "id",        "kind",          "parts",         "model",  "start",
    "task",      "corpus",        "learning_rate", "seed",   "pretraining_seed",
    "chosen",    "inputs",        "failed",        "steps",  "source_tokens",
    "seconds",   "total_seconds", "parameters",    "flops",  "splits",
    "nll",       "loss",          "validation",    "commit", "device",
    "precision", "finished"};

Json curve_json(const Curve& curve) {
  Json json = Json::array();
  for (const CurvePoint& point : curve) json.push_back({point.step, point.value});
  return json;
}

bool is_pair(const Json& json) { return json.is_array() && json.size() == 2; }

Curve curve_from(const JsonObject& json, const std::string& key) {
  Curve curve;
  if (!json.has(key)) return curve;
  for (const Json& point : json.json().at(key)) {
    if (!is_pair(point) || !point[0].is_number_integer()) {
      json.refuse(key, "is no list of [step, value]");
    }
    curve.push_back({point[0].get<int64_t>(), number_of(point[1])});
  }
  return curve;
}

Json split_json(const SplitResult& split) {
  Json json = {{"examples", split.examples}};
  for (const auto& [name, value] : split.metrics) json["metrics"][name] = value;
  for (const auto& [name, value] : split.categories) {
    json["categories"][name] = {value, split.category_examples.at(name)};
  }
  if (split.collapsed) json["collapsed"] = true;
  if (!split.outcomes.metric.empty()) json["outcomes"] = split.outcomes.to_json();
  return json;
}

SplitResult split_from(const JsonObject& json) {
  json.allow_only({"examples", "metrics", "categories", "collapsed", "outcomes"});
  SplitResult split{.examples = json.get<int64_t>("examples"),
                    .metrics = {},
                    .categories = {},
                    .collapsed = json.get_or("collapsed", false),
                    .outcomes = {}};
  if (!json.has("metrics") || !json.json().at("metrics").is_object() ||
      json.json().at("metrics").empty()) {
    json.refuse("metrics", "is missing; allowed: {{metric: value, …}}");
  }
  for (const auto& [name, value] : json.json().at("metrics").items()) {
    split.metrics.emplace_back(name, number_of(value));
  }
  if (json.has("categories")) {
    for (const auto& [name, value] : json.json().at("categories").items()) {
      if (!is_pair(value) || !value[1].is_number_integer()) {
        json.refuse("categories", "is {}; allowed: {{category: [value, examples], …}}",
                    brief_value(value));
      }
      split.categories[name] = number_of(value[0]);
      split.category_examples[name] = value[1].get<int64_t>();
    }
  }
  if (json.has("outcomes")) {
    split.outcomes = ExampleOutcomes::from_json({json.json().at("outcomes"), json.origin()});
  }
  return split;
}

auto sort_key(const CellResult& result) {
  return std::make_tuple(result.parts, result.kind, result.model, result.corpus, result.start,
                         result.task, result.learning_rate, result.pretraining_seed, result.seed,
                         result.id);
}

}  // namespace

double number_of(const Json& json) {
  return json.is_number() ? json.get<double>() : std::numeric_limits<double>::quiet_NaN();
}

bool SplitResult::has_metric(const std::string& name) const {
  return std::any_of(metrics.begin(), metrics.end(),
                     [&](const auto& metric) { return metric.first == name; });
}

double SplitResult::metric(const std::string& name) const {
  for (const auto& [each, value] : metrics) {
    if (each == name) return value;
  }
  fail("the metric {} was not computed", name);
}

Curve thinned(const Curve& curve, size_t most) {
  if (curve.size() <= most) return curve;
  Curve kept;
  for (size_t i = 0; i < most; ++i) kept.push_back(curve[i * (curve.size() - 1) / (most - 1)]);
  return kept;
}

Json CellResult::to_json() const {
  Json json = {{"id", id}, {"kind", name_of(kind)}};
  if (!parts.empty()) json["parts"] = parts;
  if (!model.empty()) json["model"] = model;
  if (kind == CellKind::Pretrain || kind == CellKind::Finetune) json["start"] = name_of(start);
  if (!task.empty()) json["task"] = task;
  if (!corpus.empty()) json["corpus"] = corpus;
  if (learning_rate > 0) json["learning_rate"] = learning_rate;
  if (seed > 0) json["seed"] = seed;
  if (pretraining_seed > 0) json["pretraining_seed"] = pretraining_seed;
  if (chosen) json["chosen"] = true;
  if (!failed.empty()) json["failed"] = failed;
  if (failed.empty()) {
    for (const auto& [name, split] : splits) json["splits"][name] = split_json(split);
    if (kind == CellKind::Pretrain) json["nll"] = nll;
    if (steps > 0) json["steps"] = steps;
    if (source_tokens > 0) json["source_tokens"] = source_tokens;
    json["seconds"] = seconds;
    json["total_seconds"] = total_seconds;
    if (parameters > 0) json["parameters"] = parameters;
    if (flops > 0) json["flops"] = flops;
    if (!loss.empty()) json["loss"] = curve_json(loss);
    if (!validation.empty()) json["validation"] = curve_json(validation);
    json["device"] = device;
    if (!precision.empty()) json["precision"] = precision;
  }
  json["commit"] = commit;
  json["finished"] = finished;
  json["inputs"] = inputs;
  return json;
}

CellResult CellResult::from_json(const JsonObject& json) {
  json.allow_only(kKeys);
  CellResult result{.id = json.get<std::string>("id"), .kind = json.get<CellKind>("kind")};
  const auto text = [&](const char* key) { return json.get_or<std::string>(key, ""); };
  const auto count = [&](const char* key) { return json.get_or<int64_t>(key, 0); };
  const auto number = [&](const char* key) {
    return json.has(key) ? number_of(json.json().at(key)) : 0.0;
  };
  result.parts = json.get_or<std::vector<std::string>>("parts", {});
  result.model = text("model");
  result.start = json.get_or("start", Start::Scratch);
  result.task = text("task");
  result.corpus = text("corpus");
  result.learning_rate = number("learning_rate");
  result.seed = count("seed");
  result.pretraining_seed = count("pretraining_seed");
  result.chosen = json.get_or("chosen", false);
  result.inputs = json.has("inputs") ? json.json().at("inputs") : Json(nullptr);
  result.failed = text("failed");
  result.steps = count("steps");
  result.source_tokens = count("source_tokens");
  result.seconds = number("seconds");
  result.total_seconds = number("total_seconds");
  result.parameters = count("parameters");
  result.flops = number("flops");
  result.nll = number("nll");
  if (json.has("splits")) {
    for (const auto& [name, split] : json.json().at("splits").items()) {
      result.splits[name] = split_from({split, json.origin() + ": " + name});
    }
  }
  result.loss = curve_from(json, "loss");
  result.validation = curve_from(json, "validation");
  result.commit = text("commit");
  result.device = text("device");
  result.precision = text("precision");
  result.finished = text("finished");
  return result;
}

void sort_results(std::vector<CellResult>& results) {
  std::stable_sort(results.begin(), results.end(), [](const CellResult& a, const CellResult& b) {
    return sort_key(a) < sort_key(b);
  });
}

std::vector<CellResult> read_scores(const std::filesystem::path& path) {
  std::vector<CellResult> results;
  std::istringstream lines(read_text_file(path));
  int64_t number = 0;
  for (std::string line; std::getline(lines, line);) {
    const std::string place = fmt::format("{}:{}", path.string(), ++number);
    results.push_back(CellResult::from_json({parse_json(line, place), place}));
  }
  return results;
}

void write_scores(const std::filesystem::path& path, std::vector<CellResult> results) {
  sort_results(results);
  AtomicFile file(path);
  for (const CellResult& result : results) file.write(result.to_json().dump() + "\n");
  file.commit();
}

}  // namespace convseq
