#pragma once

#include <CLI/CLI.hpp>

#include "data/task_reader.h"

namespace convseq::cli {

// The flags of every command that reads a labelled data set: a task by name or file, or a person's
// own tables with --source and --target.
struct TaskFlags {
  std::string task;
  std::string data = "../shared/data";
  std::string source, target;
  std::vector<std::string> labels;
  OnBadLine on_bad_line = OnBadLine::Stop;
};

void add_task_flags(CLI::App& command, TaskFlags& flags);
Task task_of(const TaskFlags& flags);

}  // namespace convseq::cli
