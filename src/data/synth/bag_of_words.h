#pragma once

#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "convseq/data/synth/family/task_family.h"

namespace convseq::synth {

// Naive Bayes: which target the words of the inputs speak for, each word alone. Every distinct
// target of the training set is a class; equal scores go to the class seen first.
class BagOfWords {
 public:
  // `fields` are the inputs it may see; the same word in two of them counts as two words.
  BagOfWords(std::span<const Example> training, std::vector<std::string> fields);

  const std::string& predict(const Inputs& inputs) const;

 private:
  struct Class {
    std::string target;
    double examples = 0;
    double words = 0;
  };
  std::vector<std::string> words_seen(const Inputs& inputs) const;

  std::vector<std::string> fields_;
  std::vector<Class> classes_;
  // For each word, how often each class has it; classes that never do are left out.
  std::unordered_map<std::string, std::unordered_map<size_t, double>> counts_;
};

}  // namespace convseq::synth
