#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "convseq/data/io/table_reader.h"
#include "convseq/data/task/row_totals.h"
#include "convseq/data/task/task.h"

namespace convseq {

struct TaskExample {
  TextTemplate::Rendered source;
  std::string target;
  std::vector<std::string> answers;  // every acceptable target; the first is `target`
  std::vector<std::string> labels;   // of a multi-label task; `target` is then their list as text
  std::string category;
};

struct TaskReaderOptions {
  std::filesystem::path data;  // the folder of files that are not beside the task file
  LineReaderOptions lines;
};

// The examples of one split of a task, in the order of its files. A row without a field that the
// task needs, without an answer (unless the task is multi-label), or with a label that is not in
// the task's list, is bad. Answers lose the white space at their ends.
class TaskReader {
 public:
  TaskReader(const Task& task, const std::string& split, TaskReaderOptions options = {});

  bool next(TaskExample& example);  // false at the end; an Error if there was no example at all

  int64_t read() const { return read_; }
  RowTotals totals() const;  // so far; what an encoder cuts is added by it

 private:
  bool open_next_file();
  bool is_dropped(const Row& row) const;
  void fill(const Row& row, TaskExample& example) const;
  std::vector<std::string> answers_in(const Row& row) const;

  const Task task_;
  const std::string split_;
  TaskReaderOptions options_;
  std::vector<std::filesystem::path> files_;
  size_t opened_ = 0;
  std::optional<TableReader> table_;
  Row row_;
  int64_t read_ = 0, dropped_ = 0, skipped_before_ = 0;
};

// Where a task's file is: beside the task file, or else under `data`. An Error names both.
std::filesystem::path find_task_file(const Task& task, const std::filesystem::path& file,
                                     const std::filesystem::path& data);

}  // namespace convseq
