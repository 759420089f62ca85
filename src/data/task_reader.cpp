#include "data/task_reader.h"

#include <fmt/ranges.h>

#include "base/error.h"

namespace convseq {
namespace fs = std::filesystem;

fs::path find_task_file(const Task& task, const fs::path& file, const fs::path& data) {
  if (file == "-") return file;
  const fs::path beside = task.folder / file, under = data / file;
  if (fs::exists(beside)) return beside;
  require(fs::exists(under), "the task {} has no file {}, nor {}", task.name, beside.string(),
          under.string());
  return under;
}

TaskReader::TaskReader(const Task& task, const std::string& split, TaskReaderOptions options)
    : task_(task), split_(split), options_(std::move(options)) {
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
        table_->report(error.what());
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
  table_.emplace(files_[opened_++], TableReaderOptions{.columns = task_.columns,
                                                       .needed = task_.needed_fields(),
                                                       .lines = options_.lines});
  return true;
}

bool TaskReader::is_dropped(const Row& row) const {
  for (const auto& [field, values] : task_.drop) {
    if (std::find(values.begin(), values.end(), row.text(field)) != values.end()) return true;
  }
  return false;
}

void TaskReader::fill(const Row& row, TaskExample& example) const {
  example.source = task_.source.render(row);
  example.answers = task_.answers.empty() ? std::vector<std::string>{task_.target.render(row).text}
                                          : row.field(task_.answers).items;
  require(!example.answers.empty(), "the field {} lists no answer", task_.answers);
  for (std::string& answer : example.answers) {
    if (const auto mapped = task_.label_map.find(answer); mapped != task_.label_map.end()) {
      answer = mapped->second;
    }
    require(task_.labels.empty() ||
                std::find(task_.labels.begin(), task_.labels.end(), answer) != task_.labels.end(),
            "the label \"{}\" is not in the task's list: {}", answer,
            fmt::join(task_.labels, ", "));
  }
  example.target = example.answers.front();
  example.category = task_.category.empty() ? "" : row.text(task_.category);
}

}  // namespace convseq
