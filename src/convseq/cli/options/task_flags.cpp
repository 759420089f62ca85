#include "convseq/cli/options/task_flags.h"

#include "convseq/base/contains.h"
#include "convseq/base/error.h"
#include "convseq/cli/options/options.h"
#include "convseq/text/trim.h"

namespace convseq::cli {
namespace {

SplitFiles files_of(const TaskFlags& flags) {
  SplitFiles files;
  const auto add = [&](const char* split, const std::vector<std::string>& names) {
    if (!names.empty())
      files.emplace_back(split, std::vector<std::filesystem::path>(names.begin(), names.end()));
  };
  add("train", flags.train);
  add("validation", flags.validation);
  add("test", flags.test);
  return files;
}

bool is_table(const TaskFlags& flags) {
  return flags.task == "-" || !flags.source.empty() || TableReader::has_table_name(flags.task);
}

// For a suggestion.
std::string likely_label(const std::vector<std::string>& columns) {
  for (const char* name : {"label", "labels", "target", "class"}) {
    if (contains(columns, name)) return name;
  }
  return columns.empty() ? "label" : columns.back();
}

// Tables whose templates nobody gave: fastText's have one meaning, the others' columns are named.
Task task_without_templates(const SplitFiles& files, const TaskFlags& flags) {
  const std::filesystem::path& first = files.front().second.front();
  const std::string form = uncompressed_extension(first);
  if (form == ".txt" || form == ".ft") return ad_hoc_task("{text}", "{label}", files);
  Task task;
  task.name = first.filename().string();
  const auto columns = TableReader::columns_of(find_task_file(task, first, flags.data));
  fail("{}: a table needs templates; its columns are {}: use --source '{{{}}}' --target '{{{}}}'",
       first.string(), fmt::join(columns, ", "), columns.empty() ? "text" : columns.front(),
       likely_label(columns));
}

Task task_with_files(const TaskFlags& flags, const SplitFiles& files,
                     const std::optional<Task>& remembered) {
  if (!flags.source.empty()) return ad_hoc_task(flags.source, flags.target, files);
  if (!flags.task.empty() && !is_table(flags)) {
    Task task = find_task(flags.task);
    task.files = files;
    task.folder.clear();
    return task;
  }
  if (!remembered) return task_without_templates(files, flags);
  Task task = *remembered;
  task.files = files;
  return task;
}

Task named_task(const TaskFlags& flags, const std::optional<Task>& remembered) {
  SplitFiles files = files_of(flags);
  if (!flags.task.empty() && is_table(flags))
    files.emplace_back("all", std::vector<std::filesystem::path>{flags.task});
  if (!files.empty()) return task_with_files(flags, files, remembered);
  if (!flags.task.empty()) return find_task(flags.task);
  require(remembered.has_value(),
          "no data: name a task, or files with --train, --validation or --test");
  const auto known = task_names();
  require(
      contains(known, remembered->name),
      "no data: the model was tuned on {}, of which it remembers no files; name the task, or files "
      "with --train, --validation or --test",
      remembered->name);
  return find_task(remembered->name);
}

// After the labels are known, and before the metrics are chosen.
void set_label_kind(const TaskFlags& flags, Task& task) {
  const bool sets = !flags.label_separator.empty() || !flags.label_columns.empty();
  if (!sets && !flags.label_kind) return;
  require(flags.task.empty() || is_table(flags), "{}: the task {} has its own labels",
          flags.label_kind              ? "--label-kind"
          : flags.label_columns.empty() ? "--label-separator"
                                        : "--label-columns",
          task.name);
  task.label_separator = flags.label_separator;
  task.label_columns = flags.label_columns;
  if (!flags.label_columns.empty()) task.target = TextTemplate();
  if (flags.label_kind.value_or(LabelKind::Multi) == LabelKind::Multi) task.use_label_sets();
}

bool reads_own_files(const TaskFlags& flags) {
  if (!flags.task.empty()) return flags.task == "-" || TableReader::has_table_name(flags.task);
  return !flags.train.empty() || !flags.validation.empty() || !flags.test.empty();
}

}  // namespace

void add_task_flags(CLI::App& command, TaskFlags& flags) {
  command.add_option(
      "TASK,--task", flags.task,
      "Task: a built-in task, a task file, or a table (.jsonl, .csv, .tsv, fastText's .txt or "
      ".ft, plain, .gz or .zst; - reads standard input) with --source and --target");
  command.add_option("--train", flags.train, "Files of the training split")->type_name("FILE ...");
  command.add_option("--validation", flags.validation, "Files of the validation split")
      ->type_name("FILE ...");
  command.add_option("--test", flags.test, "Files of the test split")->type_name("FILE ...");
  command.add_option("--data", flags.data, "Folder with the files of the built-in tasks")
      ->envname("CONVSEQ_DATA")
      ->capture_default_str();
  CLI::Option* source = command.add_option(
      "--source", flags.source, "Input template with column names, such as 'review: {text}'");
  CLI::Option* target =
      command.add_option("--target", flags.target, "Output template, such as '{label}'");
  target->needs(source);
  command.add_option("--labels", flags.labels, "All labels of the table, separated by commas")
      ->delimiter(',');
  add_enum(command, "--label-kind", flags.label_kind,
           "Labels per row: exactly one, or any number (multi-label; a JSON list)");
  command.add_option("--label-separator", flags.label_separator,
                     "Separator between the labels of a multi-label field, such as '|'");
  command
      .add_option(
          "--label-columns", flags.label_columns,
          "0/1 columns, one per label, separated by commas (multi-label; replaces --target)")
      ->delimiter(',');
  command.add_option("--positive-label", flags.positive_label,
                     "Positive class for f1, roc_auc, average_precision and the threshold");
  add_enums(command, "--metrics", flags.metrics, "Metrics; the first one selects the best model");
  add_count(command, "--max-source-tokens", flags.max_source_tokens,
            "Maximum source length in tokens (0 = the task's limit)", {.min = 0, .max = kLongest});
  add_count(command, "--max-target-tokens", flags.max_target_tokens,
            "Maximum target length in tokens (0 = the task's limit)", {.min = 0, .max = kLongest});
  add_enum(command, "--on-bad-line", flags.on_bad_line,
           "Handling of invalid rows: stop with an error, or skip and count them");
}

void check_token_limit(const char* flag, int64_t tokens) {
  require(tokens != 1, "{}: 1; allowed: 0, or 2 to {}: one token and the EOS", flag, kLongest);
}

Task task_of(const TaskFlags& flags, const std::optional<Task>& remembered) {
  Task task = named_task(flags, remembered);
  const bool own_labels = flags.task.empty() || is_table(flags);
  require(flags.source.empty() || !flags.target.empty() || !flags.label_columns.empty(),
          "--source requires --target or --label-columns");
  require(flags.labels.empty() || own_labels, "--labels: the task {} has its own labels",
          task.name);
  if (!flags.labels.empty()) {
    task.labels.clear();
    for (const std::string& label : flags.labels) task.labels.push_back(trimmed(label));
  }
  set_label_kind(flags, task);
  if (!flags.positive_label.empty()) task.positive_label = trimmed(flags.positive_label);
  if (!flags.metrics.empty()) task.metrics = flags.metrics;
  require(flags.positive_label.empty() || contains(task.labels, task.positive_label),
          "--positive-label {} is not one of the labels: {}", task.positive_label,
          task.labels.empty() ? "name them with --labels"
                              : fmt::format("{}", fmt::join(task.labels, ", ")));
  require(!contains(task.metrics, Metric::F1) || !task.positive_label.empty(),
          "the metric f1 needs a positive class: name it with --positive-label, or use macro_f1");
  check_token_limit("--max-source-tokens", flags.max_source_tokens);
  check_token_limit("--max-target-tokens", flags.max_target_tokens);
  if (flags.max_source_tokens > 0) task.max_source_tokens = flags.max_source_tokens;
  if (flags.max_target_tokens > 0) task.max_target_tokens = flags.max_target_tokens;
  task.check(task.name);
  return task;
}

std::string title_of(const TaskFlags& flags, const Task& task, const std::string& split) {
  if (!reads_own_files(flags)) return task.name + " " + split;
  const auto& files = task.files_of(split);
  const std::string first =
      files.front() == "-" ? "standard input" : files.front().filename().string();
  return files.size() == 1 ? first : fmt::format("{} and {} more", first, files.size() - 1);
}

}  // namespace convseq::cli
