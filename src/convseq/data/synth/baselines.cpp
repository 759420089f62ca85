#include "convseq/data/synth/baselines.h"

#include <functional>

#include "convseq/data/synth/bag_of_words.h"

namespace convseq::synth {
namespace {

using Answer = std::function<std::string(const Inputs&)>;
using Part = std::vector<const Example*>;

double share_right(const Part& part, const Answer& answer) {
  const auto right = std::count_if(part.begin(), part.end(), [&](const Example* example) {
    return answer(example->inputs) == example->target;
  });
  return static_cast<double>(right) / static_cast<double>(part.size());
}

std::string most_frequent_target(const std::vector<Example>& examples) {
  std::map<std::string, int64_t> counts;
  for (const Example& example : examples) ++counts[example.target];
  return std::max_element(counts.begin(), counts.end(),
                          [](const auto& a, const auto& b) { return a.second < b.second; })
      ->first;
}

// The whole split under "", and each category under its name.
std::map<std::string, Part> parts_of(const std::vector<Example>& examples) {
  std::map<std::string, Part> parts;
  for (const Example& example : examples) {
    parts[""].push_back(&example);
    if (!example.category.empty()) parts[example.category].push_back(&example);
  }
  return parts;
}

}  // namespace

std::vector<Baseline> measure_baselines(const TaskFamily& family, const TaskData& data) {
  const std::vector<Example>& training = data.splits.at(Split::Train);
  std::vector<std::string> fields;
  for (const Input& input : training.front().inputs) fields.push_back(input.field);
  const std::string majority = most_frequent_target(training);
  const BagOfWords bag(training, fields);
  std::map<std::string, BagOfWords> single;
  if (fields.size() > 1) {
    for (const std::string& field : fields) single.try_emplace(field, training, std::vector{field});
  }

  std::vector<Baseline> baselines;
  for (const auto& [split, examples] : data.splits) {
    if (split == Split::Train || split == Split::Validation) continue;
    for (const auto& [category, part] : parts_of(examples)) {
      Baseline row{.task = data.description.name,
                   .split = split,
                   .category = category,
                   .examples = static_cast<int64_t>(part.size())};
      row.majority = share_right(part, [&](const Inputs&) { return majority; });
      row.bag_of_words = share_right(part, [&](const Inputs& in) { return bag.predict(in); });
      for (const auto& [field, alone] : single) {
        row.one_input[field] =
            share_right(part, [&, &bag = alone](const Inputs& in) { return bag.predict(in); });
      }
      row.oracle = share_right(part, [&](const Inputs& in) { return family.solve(in); });
      baselines.push_back(std::move(row));
    }
  }
  return baselines;
}

Json Baseline::to_json() const {
  Json json = {{"task", task}, {"split", name_of(split)}};
  if (!category.empty()) json["category"] = category;
  json["examples"] = examples;
  json["majority"] = majority;
  json["bag_of_words"] = bag_of_words;
  for (const auto& [field, share] : one_input) json[field + "_only"] = share;
  json["oracle"] = oracle;
  return json;
}

std::string table_of(const std::vector<Baseline>& baselines) {
  std::string table = fmt::format("{:<16} {:<32} {:>8} {:>8} {:>12} {:>6}  {}\n", "task", "split",
                                  "examples", "majority", "bag of words", "oracle", "one input");
  for (const Baseline& row : baselines) {
    std::string split(name_of(row.split));
    if (!row.category.empty()) split += ": " + row.category;
    std::string alone;
    for (const auto& [field, share] : row.one_input)
      alone += fmt::format(" {} {:.3f}", field, share);
    table += fmt::format("{:<16} {:<32} {:>8} {:>8.3f} {:>12.3f} {:>6.3f} {}\n", row.task, split,
                         row.examples, row.majority, row.bag_of_words, row.oracle, alone);
  }
  return table;
}

}  // namespace convseq::synth
