#pragma once

#include <CLI/CLI.hpp>
#include <optional>

#include "convseq/data/task/task_reader.h"

namespace convseq::cli {

// The flags of every command that reads labelled data: a task by name or file, or the user's own
// tables with --source and --target.
struct TaskFlags {
  std::string task;
  std::vector<std::string> train, validation,
      test;  // files, instead of TASK's or with its templates
  std::string data = "data";
  std::string source, target;
  std::vector<std::string> labels;
  std::optional<LabelKind> label_kind;  // none: multi if one of the next two is given, else single
  std::string label_separator;
  std::vector<std::string> label_columns;
  std::string positive_label;
  std::vector<Metric> metrics;                           // none: the task's
  int64_t max_source_tokens = 0, max_target_tokens = 0;  // 0: the task's
  OnBadLine on_bad_line = OnBadLine::Stop;
};

void add_task_flags(CLI::App& command, TaskFlags& flags);

// Refuses 1, which leaves no room for a token before the EOS; 0 is the task's own limit.
void check_token_limit(const char* flag, int64_t tokens);

// The task that the flags name. Where they name tables without templates, those of the `remembered`
// task (of a model folder) are used; without one, an Error names the columns and the flags. Where
// they name nothing at all, the remembered task is looked up by its name.
Task task_of(const TaskFlags& flags, const std::optional<Task>& remembered = {});

// What a report is called: the task and the split, or, of tables that the user names, the file.
std::string title_of(const TaskFlags& flags, const Task& task, const std::string& split);

}  // namespace convseq::cli
