#pragma once

#include <map>
#include <string>
#include <vector>

#include "convseq/base/file/json_file.h"
#include "convseq/data/synth/task_data.h"

namespace convseq::synth {

// Accuracies on a split, or on one category of it, without a neural network.
struct Baseline {
  std::string task;
  Split split = Split::Test;
  std::string category;  // empty: the whole split
  int64_t examples = 0;
  double majority = 0;      // of the most frequent training target
  double bag_of_words = 0;  // naive Bayes over the words of all inputs
  std::map<std::string, double> one_input =
      {};             // the same over one input alone, where there are several
  double oracle = 0;  // the family's solver: 1 by construction

  Json to_json() const;
};

// For test and generalisation, whole and by category.
std::vector<Baseline> measure_baselines(const TaskFamily& family, const TaskData& data);

std::string table_of(const std::vector<Baseline>& baselines);  // for people to read

}  // namespace convseq::synth
