#include "convseq/data/synth/task_data.h"

#include <set>
#include <stdexcept>
#include <unordered_map>
#include <unordered_set>

#include "convseq/base/contains.h"
#include "convseq/base/error.h"
#include "convseq/data/synth/random_streams.h"

namespace convseq::synth {
namespace {

constexpr int64_t kMostRefusals = 1000;  // in a row, after which a family is exhausted

int64_t size_of(Split split, const SplitSizes& sizes) {
  if (split == Split::Train) return sizes.train;
  return split == Split::Validation ? sizes.validation : sizes.test;
}

// The texts of a group that no other group may contain.
std::set<std::string> distinct_texts(const std::vector<Example>& group,
                                     const TaskDescription& description) {
  std::set<std::string> texts;
  for (const Example& example : group) {
    for (const Input& input : example.inputs) {
      if (contains(description.distinct_fields, input.field)) texts.insert(input.text);
    }
  }
  return texts;
}

class TaskDrawer {
 public:
  TaskDrawer(const TaskFamily& family, const DrawOptions& options)
      : family_(family), description_(family.describe()), options_(options) {}

  std::vector<Example> draw(Split split, int64_t size) {
    std::vector<Example> examples;
    uint64_t attempt = 0;
    int64_t refused = 0;
    for (int64_t number = 0; static_cast<int64_t>(examples.size()) < size;) {
      options_.poll();
      Random random(options_.seed, {kTaskStream, static_cast<uint64_t>(split), attempt++});
      const auto group = family_.draw_group(split, number, random);
      if (!claim(group)) {
        require(
            ++refused < kMostRefusals,
            "{}: found only {} different {} examples of {}; ask for fewer, or for a harder task",
            description_.name, examples.size(), name_of(split), size);
        continue;
      }
      refused = 0;
      ++number;
      examples.insert(examples.end(), group.begin(), group.end());
    }
    Random(options_.seed, {kTaskOrderStream, static_cast<uint64_t>(split)}).shuffle(examples);
    return examples;
  }

 private:
  bool claim(const std::vector<Example>& group) {
    const auto texts = distinct_texts(group, description_);
    for (const std::string& text : texts) {
      if (taken_.contains(text)) return false;
    }
    taken_.insert(texts.begin(), texts.end());
    return true;
  }

  const TaskFamily& family_;
  TaskDescription description_;
  const DrawOptions& options_;
  std::unordered_set<std::string> taken_;
};

}  // namespace

TaskData draw_task(const TaskFamily& family, const DrawOptions& options) {
  const SplitSizes& sizes = options.sizes;
  require(sizes.train >= 1, "{} is {}; allowed: 1 or more", OptionName("train"), sizes.train);
  require(sizes.validation >= 1, "{} is {}; allowed: 1 or more", OptionName("validation"),
          sizes.validation);
  require(sizes.test >= 1, "{} is {}; allowed: 1 or more", OptionName("test"), sizes.test);
  TaskData data{.description = family.describe(), .splits = {}};
  TaskDrawer drawer(family, options);
  for (Split split : data.description.splits) {
    data.splits[split] = drawer.draw(split, size_of(split, sizes));
  }
  check_no_leaks(data);
  return data;
}

void check_no_leaks(const TaskData& data) {
  std::unordered_map<std::string, Split> side;
  for (const auto& [split, examples] : data.splits) {
    for (const std::string& text : distinct_texts(examples, data.description)) {
      const auto [found, is_new] = side.try_emplace(text, split);
      if (!is_new) {
        throw std::logic_error(fmt::format("{}: in {} and in {}: {}", data.description.name,
                                           name_of(found->second), name_of(split), text));
      }
    }
  }
}

}  // namespace convseq::synth
