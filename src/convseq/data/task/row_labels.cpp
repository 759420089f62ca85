#include "convseq/data/task/row_labels.h"

#include <algorithm>
#include <charconv>

#include "convseq/base/contains.h"
#include "convseq/base/error.h"
#include "convseq/base/file/json_file.h"
#include "convseq/text/split.h"
#include "convseq/text/trim.h"

namespace convseq {
namespace {

// 0 or 1, false or true, or a share of annotators, of which at least a half make it a label.
bool is_set(const std::string& column, const std::string& field) {
  const std::string text = trimmed(field);
  if (text == "true" || text == "false") return text == "true";
  double share = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), share);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  require(whole && share >= 0 && share <= 1,
          "the label column {} holds \"{}\"; allowed: 0, 1, false, true, or a share from 0 to 1",
          column, brief_text(text));
  return share >= 0.5;
}

std::vector<std::string> names_in(const Task& task, const Row& row) {
  std::vector<std::string> names;
  for (const std::string& column : task.label_columns) {
    if (is_set(column, row.text(column))) names.push_back(column);
  }
  for (const std::string& field : task.target.fields()) {
    for (const std::string& item : row.field(field).items) {
      for (std::string& part : split(item, task.label_separator)) names.push_back(trimmed(part));
    }
  }
  return names;
}

}  // namespace

std::vector<std::string> row_labels(const Task& task, const Row& row) {
  std::vector<std::string> labels;
  for (const std::string& name : names_in(task, row)) {
    const std::string label = task.label_of(name);
    if (!label.empty() && !contains(labels, label)) labels.push_back(label);
  }
  for (const std::string& label : labels) task.require_label(label);
  const auto place = [&](const std::string& label) {
    return std::find(task.labels.begin(), task.labels.end(), label);
  };
  std::stable_sort(labels.begin(), labels.end(),
                   [&](const std::string& a, const std::string& b) { return place(a) < place(b); });
  return labels;
}

}  // namespace convseq
