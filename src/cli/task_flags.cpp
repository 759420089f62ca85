#include "cli/task_flags.h"

#include "base/error.h"
#include "cli/options.h"

namespace convseq::cli {

void add_task_flags(CLI::App& command, TaskFlags& flags) {
  command
      .add_option("TASK", flags.task,
                  "A task by its name, a task file, or, with --source and --target, a .jsonl, .csv "
                  "or .tsv file, plain, .gz or .zst")
      ->required();
  command.add_option("--data", flags.data, "The folder that the files of tasks stand in")
      ->envname("CONVSEQ_DATA")
      ->capture_default_str();
  CLI::Option* source = command.add_option(
      "--source", flags.source, "What a model reads, with fields of the table: 'review: {text}'");
  CLI::Option* target =
      command.add_option("--target", flags.target, "What it is to write: '{label}'");
  source->needs(target);
  target->needs(source);
  command.add_option("--labels", flags.labels, "With --target: every label there may be")
      ->delimiter(',')
      ->needs(target);
  add_enum(command, "--on-bad-line", flags.on_bad_line, "What to do with a row it cannot use");
}

Task task_of(const TaskFlags& flags) {
  if (flags.source.empty()) return find_task(flags.task);
  Task task = ad_hoc_task(flags.source, flags.target, {{"all", {flags.task}}});
  task.labels = flags.labels;
  task.check(flags.task);
  return task;
}

}  // namespace convseq::cli
