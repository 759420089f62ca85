#include "convseq/data/task/split_summary.h"

#include <map>
#include <numeric>
#include <optional>
#include <sstream>

#include "convseq/data/task/task_encoder.h"

namespace convseq {
namespace {

constexpr const char* kNoLabel = "(no label)";
constexpr size_t kFreeText = 100;  // with more different targets they are not counted

int64_t count_words(const std::string& text) {
  std::istringstream words(text);
  return std::distance(std::istream_iterator<std::string>(words), {});
}

LengthSummary summarise(std::vector<int64_t> lengths) {
  if (lengths.empty()) return {};
  std::sort(lengths.begin(), lengths.end());
  const auto at = [&](double share) {
    return lengths[static_cast<size_t>(share * static_cast<double>(lengths.size() - 1))];
  };
  const auto sum = static_cast<double>(std::accumulate(lengths.begin(), lengths.end(), int64_t{0}));
  return {.mean = sum / static_cast<double>(lengths.size()),
          .median = at(0.5),
          .percentile95 = at(0.95),
          .longest = lengths.back()};
}

SplitSummary::Counts most_frequent_first(const std::map<std::string, int64_t>& counts) {
  SplitSummary::Counts sorted(counts.begin(), counts.end());
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  return sorted;
}

Json to_json(const SplitSummary::Counts& counts) {
  Json json = Json::object();
  for (const auto& [name, count] : counts) json[name] = count;
  return json;
}

Json to_json(const LengthSummary& lengths) {
  return {{"mean", lengths.mean},
          {"median", lengths.median},
          {"percentile_95", lengths.percentile95},
          {"longest", lengths.longest}};
}

}  // namespace

SplitSummary summarise_split(const Task& task, const std::string& split,
                             const SplitSummaryOptions& options) {
  SplitSummary summary;
  summary.split = split;
  summary.unit = options.tokenizer != nullptr ? "tokens" : "words";
  std::optional<TaskEncoder> encoder;
  if (options.tokenizer != nullptr) encoder.emplace(task, *options.tokenizer);

  std::map<std::string, int64_t> targets, categories;
  std::vector<int64_t> sources, target_lengths;
  TaskReader reader(task, split, options.reader);
  for (TaskExample example; reader.next(example);) {
    if (encoder) {
      const Example ids = encoder->encode(example);
      sources.push_back(static_cast<int64_t>(ids.source.size()));
      target_lengths.push_back(static_cast<int64_t>(ids.target.size()));
    } else {
      sources.push_back(count_words(example.source.text));
      target_lengths.push_back(count_words(example.target));
    }
    if (task.label_kind == LabelKind::Multi) {
      for (const std::string& label : example.labels) ++targets[label];
      if (example.labels.empty()) ++targets[kNoLabel];
    } else if (targets.size() <= kFreeText) {
      ++targets[example.target];
    }
    if (!task.category.empty()) ++categories[example.category];
    if (summary.examples.size() < options.examples) summary.examples.push_back(example);
  }
  summary.totals = reader.totals();
  if (targets.size() <= kFreeText) summary.targets = most_frequent_first(targets);
  summary.categories = most_frequent_first(categories);
  summary.source = summarise(std::move(sources));
  summary.target = summarise(std::move(target_lengths));
  if (encoder) encoder->add_to(summary.totals);
  return summary;
}

Json SplitSummary::to_json() const {
  Json shown = Json::array();
  for (const TaskExample& example : examples) {
    shown.push_back({{"source", example.source.text},
                     {"target", example.target},
                     {"answers", example.answers},
                     {"category", example.category}});
  }
  Json json = {{"split", split}};
  json.update(totals.to_json());
  json.update({{"targets", convseq::to_json(targets)},
               {"categories", convseq::to_json(categories)},
               {"unit", unit},
               {"source_length", convseq::to_json(source)},
               {"target_length", convseq::to_json(target)},
               {"examples", shown}});
  return json;
}

}  // namespace convseq
