#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "convseq/base/file/json_file.h"
#include "convseq/data/task/label_kind.h"
#include "convseq/data/task/metric.h"
#include "convseq/data/task/text_template.h"

namespace convseq {

using SplitFiles = std::vector<std::pair<std::string, std::vector<std::filesystem::path>>>;

// A labelled data set as a text-to-text task: a JSON file with the same keys, or built in code.
struct Task {
  std::string name;
  std::string description;
  SplitFiles files;
  std::filesystem::path folder;      // of the task file; `files` are looked up there first
  std::vector<std::string> columns;  // of CSV or TSV files without a header line

  TextTemplate source;
  TextTemplate target;  // one of these: a text made of the fields,
  std::string answers;  // or a field that lists the acceptable answers; the first one is learnt,
  std::vector<std::string> label_columns;  // or, multi-label, a column of 0 and 1 per label
  std::string category;                    // a field for scores per category

  std::vector<std::string> labels;  // every target there may be; none: targets are free text.
                                    // Without white space at their ends, as targets are read.
  std::map<std::string, std::string> label_map;  // "0" -> "negative"; other targets are kept
  std::string positive_label;                    // of f1
  LabelKind label_kind = LabelKind::Single;
  std::string label_separator;  // multi-label: between the labels in the target's text
  std::vector<Metric> metrics = {Metric::Accuracy};
  std::map<std::string, std::vector<std::string>>
      drop;  // rows with one of these values are removed

  int64_t max_source_tokens = 512;  // the EOS included
  int64_t max_target_tokens = 64;
  std::string cut;  // the field of the source that is cut first; none: the longest one

  // What a task file says, without the files: what a model folder remembers of its task. Reading it
  // takes files too, where there are any, and refuses what check() refuses.
  Json to_json() const;
  static Task from_json(const JsonObject& json);

  // An Error names what does not fit together, and `origin` as its place.
  void check(const std::string& origin) const;

  // Makes it a multi-label task with micro and macro F1 as its metrics. Without a list of labels,
  // they are those of the label columns.
  void use_label_sets();

  bool has_split(const std::string& split) const;
  const std::vector<std::filesystem::path>& files_of(const std::string& split) const;
  std::vector<std::string> needed_fields() const;
  std::string label_of(const std::string& text) const;  // by the label_map
  void require_label(const std::string& label) const;   // that it is in the list
};

// The tasks of configs/tasks, built into the program.
std::vector<std::string> task_names();

// A task's name, or a task file.
Task find_task(const std::string& name_or_path);

// A task without a task file: the user's tables and two templates. The caller may set more, and
// checks it.
Task ad_hoc_task(const std::string& source, const std::string& target, SplitFiles files);

}  // namespace convseq
