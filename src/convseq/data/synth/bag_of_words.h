#pragma once

#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "convseq/data/synth/family/task_family.h"

namespace convseq::synth {

// Naive Bayes over the words of the inputs. Every distinct target of the training set is a class;
// of equal scores the class seen first wins.
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
  // For each word, its count in each class; classes without the word are left out.
  std::unordered_map<std::string, std::unordered_map<size_t, double>> counts_;
};

}  // namespace convseq::synth
