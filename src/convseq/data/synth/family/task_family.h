#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "convseq/base/enum_names.h"
#include "convseq/base/random.h"
#include "convseq/data/task/task.h"

namespace convseq::synth {

enum class Split { Train, Validation, Test, Generalisation };

// The inputs of an example, by field: {"premise", "mira had …"}, {"hypothesis", "the
// …"}.
struct Input {
  std::string field;
  std::string text;
};
using Inputs = std::vector<Input>;

struct Example {
  Inputs inputs;
  std::string target;
  std::string category = "";  // what it tests, where a task tests several things
};

struct TaskDescription {
  std::string name;     // the family and its difficulty: "pair_2"
  std::string meaning;  // in a sentence
  std::string source;   // template over the inputs: "{premise} claim: {hypothesis}"
  std::string target_field = "label";
  std::vector<std::string> labels = {};  // none: the target is free text
  std::string positive_label = "";       // where F1 is a metric
  std::vector<Metric> metrics = {Metric::Accuracy};
  bool has_categories = false;
  std::vector<Split> splits = {Split::Train, Split::Validation, Split::Test};
  // Inputs whose text may occur in one group of examples only, and so in one split only.
  std::vector<std::string> distinct_fields = {"text"};
};

// One kind of task at one difficulty: a generator of examples and an independent solver.
class TaskFamily {
 public:
  virtual ~TaskFamily() = default;

  virtual TaskDescription describe() const = 0;

  // A few examples that balance one another: all labels are equally frequent, and no word, sentence
  // or input alone is informative unless the family says so. `number` counts the groups drawn for a
  // split, for what has to alternate.
  virtual std::vector<Example> draw_group(Split split, int64_t number, Random& random) const = 0;

  // The answer, computed from the text alone.
  virtual std::string solve(const Inputs& inputs) const = 0;
};

}  // namespace convseq::synth

template <>
inline constexpr auto convseq::kEnumNames<convseq::synth::Split> =
    std::to_array<convseq::EnumName<convseq::synth::Split>>(
        {{convseq::synth::Split::Train, "train"},
         {convseq::synth::Split::Validation, "validation"},
         {convseq::synth::Split::Test, "test"},
         {convseq::synth::Split::Generalisation, "generalisation"}});
