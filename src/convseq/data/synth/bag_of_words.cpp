#include "convseq/data/synth/bag_of_words.h"

#include <algorithm>
#include <cmath>

#include "convseq/base/contains.h"
#include "convseq/data/synth/grammar/words.h"

namespace convseq::synth {

BagOfWords::BagOfWords(std::span<const Example> training, std::vector<std::string> fields)
    : fields_(std::move(fields)) {
  std::unordered_map<std::string, size_t> class_of_target;
  for (const Example& example : training) {
    const auto [found, is_new] = class_of_target.try_emplace(example.target, classes_.size());
    if (is_new) classes_.push_back({.target = example.target});
    Class& its_class = classes_[found->second];
    its_class.examples += 1;
    for (const std::string& word : words_seen(example.inputs)) {
      its_class.words += 1;
      counts_[word][found->second] += 1;
    }
  }
}

std::vector<std::string> BagOfWords::words_seen(const Inputs& inputs) const {
  std::vector<std::string> words;
  for (const Input& input : inputs) {
    if (!contains(fields_, input.field)) continue;
    for (std::string_view word : words_of(input.text)) {
      words.push_back(input.field + ":" + std::string(word));
    }
  }
  return words;
}

const std::string& BagOfWords::predict(const Inputs& inputs) const {
  // log P(class) + sum over known words of log((count + 1) / (words of the class + vocabulary)).
  const auto vocabulary = static_cast<double>(counts_.size());
  std::vector<double> scores(classes_.size());
  double known = 0;
  for (const std::string& word : words_seen(inputs)) {
    const auto found = counts_.find(word);
    if (found == counts_.end()) continue;
    known += 1;
    for (const auto& [its_class, count] : found->second) scores[its_class] += std::log(count + 1);
  }
  for (size_t c = 0; c < classes_.size(); ++c) {
    scores[c] += std::log(classes_[c].examples) - known * std::log(classes_[c].words + vocabulary);
  }
  const auto best = std::max_element(scores.begin(), scores.end());
  return classes_[static_cast<size_t>(best - scores.begin())].target;
}

}  // namespace convseq::synth
