#include "convseq/data/task/task_reader.h"

#include <fmt/ranges.h>

#include "convseq/base/contains.h"
#include "convseq/base/error.h"
#include "convseq/data/task/row_labels.h"
#include "convseq/text/trim.h"

namespace convseq {
namespace fs = std::filesystem;

fs::path find_task_file(const Task& task, const fs::path& file, const fs::path& data) {
  if (file == "-") return file;
  const fs::path beside = task.folder / file, under = data / file;
  if (fs::exists(beside)) return beside;
  require(!file.is_absolute(), "{}: no such file", file.string());
  const bool is_table = task.folder.empty() && task.name == file.filename();
  require(!is_table || fs::exists(under), "{}: no such file, nor {}", file.string(),
          under.string());
  require(fs::exists(under),
          "the task {} has no file {}, nor {}; {} names the folder that holds it", task.name,
          beside.string(), under.string(), OptionName("data"));
  return under;
}

TaskReader::TaskReader(const Task& task, const std::string& split, TaskReaderOptions options)
    : task_(task), split_(split), options_(std::move(options)) {
  if (options_.lines.bad_lines != nullptr) skipped_before_ = options_.lines.bad_lines->skipped();
  for (const fs::path& file : task_.files_of(split)) {
    files_.push_back(find_task_file(task_, file, options_.data));
  }
}

bool TaskReader::next(TaskExample& example) {
  while (table_ || open_next_file()) {
    while (table_->next(row_)) {
      try {
        if (is_dropped(row_)) {
          ++dropped_;
          continue;
        }
        fill(row_, example);
        ++read_;
        return true;
      } catch (const Error& error) {
        table_->report(error);
      }
    }
    table_.reset();
  }
  require(read_ > 0, "the split {} of the task {} has no example that can be used", split_,
          task_.name);
  return false;
}

bool TaskReader::open_next_file() {
  if (opened_ == files_.size()) return false;
  const bool is_multi = task_.label_kind == LabelKind::Multi;
  table_.emplace(files_[opened_++], TableReaderOptions{.columns = task_.columns,
                                                       .needed = task_.needed_fields(),
                                                       .label_lists = is_multi,
                                                       .lines = options_.lines});
  return true;
}

bool TaskReader::is_dropped(const Row& row) const {
  for (const auto& [field, values] : task_.drop) {
    if (contains(values, row.text(field))) return true;
  }
  return false;
}

void TaskReader::fill(const Row& row, TaskExample& example) const {
  example.source = task_.source.render(row);
  if (task_.label_kind == LabelKind::Multi) {
    example.labels = row_labels(task_, row);
    example.answers = {fmt::format("{}", fmt::join(example.labels, ", "))};
  } else {
    example.answers = answers_in(row);
    for (const std::string& answer : example.answers) task_.require_label(answer);
  }
  example.target = example.answers.front();
  example.category = task_.category.empty() ? "" : row.text(task_.category);
}

// An empty field, or JSON's null, is no answer, unless the task's label_map says what it stands
// for.
std::vector<std::string> TaskReader::answers_in(const Row& row) const {
  std::vector<std::string> answers;
  if (task_.answers.empty()) {
    const auto& fields = task_.target.fields();
    const bool empty = std::all_of(fields.begin(), fields.end(), [&](const std::string& field) {
      return trimmed(row.text(field)).empty();
    });
    const std::string answer = task_.label_of(trimmed(task_.target.render(row).text));
    require(!answer.empty() && (!empty || fields.empty() || task_.label_map.contains("")),
            "has no target: {} is empty", fmt::join(fields, ", "));
    return {answer};
  }
  for (const std::string& item : row.field(task_.answers).items) {
    if (std::string answer = task_.label_of(trimmed(item)); !answer.empty())
      answers.push_back(answer);
  }
  require(!answers.empty(), "the field {} lists no answer", task_.answers);
  return answers;
}

RowTotals TaskReader::totals() const {
  const int64_t skipped =
      options_.lines.bad_lines == nullptr ? 0 : options_.lines.bad_lines->skipped();
  return {.rows = read_, .skipped = skipped - skipped_before_, .dropped = dropped_};
}

}  // namespace convseq
