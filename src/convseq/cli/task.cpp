#include <fmt/format.h>

#include "convseq/base/log.h"
#include "convseq/base/utf8.h"
#include "convseq/cli/commands.h"
#include "convseq/cli/options/numbers.h"
#include "convseq/cli/options/task_flags.h"
#include "convseq/data/task/split_summary.h"

namespace convseq::cli {
namespace {

struct ShowTaskFlags {
  TaskFlags task;
  std::string split;
  std::string tokenizer;
  size_t examples = 3;
  bool json = false;
};

std::string describe_counts(const SplitSummary::Counts& counts) {
  constexpr size_t kShown = 8;
  std::string line;
  for (size_t i = 0; i < std::min(counts.size(), kShown); ++i) {
    line += fmt::format("{}{} {}", i == 0 ? "" : ", ", counts[i].first, counts[i].second);
  }
  if (counts.size() > kShown) line += fmt::format(", … ({} in all)", counts.size());
  return line;
}

std::string describe_lengths(const LengthSummary& lengths) {
  return fmt::format("mean {:.1f}, median {}, 95% {}, longest {}", lengths.mean, lengths.median,
                     lengths.percentile95, lengths.longest);
}

void print_example(const TaskExample& example) {
  constexpr size_t kShown = 400;
  const std::string_view source = utf8_prefix(example.source.text, kShown);
  fmt::print("\n  source    {}{}\n  target    {}\n", source,
             source.size() < example.source.text.size() ? "…" : "", example.target);
  if (example.answers.size() > 1) {
    fmt::print("  accepted  {}\n", fmt::join(example.answers, " | "));
  }
  if (!example.category.empty()) fmt::print("  category  {}\n", example.category);
}

void print(const SplitSummary& split) {
  fmt::print("\n{}: {} row{}\n", split.split, split.totals.rows, split.totals.rows == 1 ? "" : "s");
  if (const std::string totals = split.totals.describe(); !totals.empty()) {
    fmt::print("  skipped/cut {}\n", totals);
  }
  if (!split.targets.empty()) fmt::print("  targets     {}\n", describe_counts(split.targets));
  if (!split.categories.empty())
    fmt::print("  categories  {}\n", describe_counts(split.categories));
  fmt::print("  source      {} ({})\n", describe_lengths(split.source), split.unit);
  fmt::print("  target      {} ({})\n", describe_lengths(split.target), split.unit);
  for (const TaskExample& example : split.examples) print_example(example);
}

void show_task(const ShowTaskFlags& flags) {
  const Task task = task_of(flags.task);
  BadLines bad_lines(flags.task.on_bad_line);
  std::optional<Tokenizer> tokenizer;
  if (!flags.tokenizer.empty()) tokenizer = Tokenizer::load(flags.tokenizer);
  SplitSummaryOptions options{
      .reader = {.data = flags.task.data, .lines = {.bad_lines = &bad_lines}},
      .tokenizer = tokenizer ? &*tokenizer : nullptr,
      .examples = flags.examples};

  if (!flags.split.empty()) task.files_of(flags.split);  // refuses a split that is not there
  Json splits = Json::array();
  std::vector<SplitSummary> summaries;  // printed when all could be read
  for (const auto& [split, files] : task.files) {
    if (!flags.split.empty() && flags.split != split) continue;
    summaries.push_back(summarise_split(task, split, options));
    if (flags.split.empty()) options.examples = 0;  // those of the first split are enough
    if (flags.json) splits.push_back(summaries.back().to_json());
  }
  if (flags.json) {
    const Json report = {{"task", task.name},
                         {"description", task.description},
                         {"splits", splits},
                         {"bad_lines_skipped", bad_lines.skipped()}};
    fmt::print("{}\n", report.dump());
  } else {
    fmt::print("{}{}{}\n", task.name, task.description.empty() ? "" : "  ", task.description);
    for (const SplitSummary& summary : summaries) print(summary);
  }
  if (const std::string skipped = bad_lines.summary(); !skipped.empty()) {
    log::warning("{}", skipped);
  }
}

}  // namespace

void add_task(CLI::App& program) {
  auto flags = std::make_shared<ShowTaskFlags>();
  CLI::App* command = program.add_subcommand(
      "task", "Show the rows, labels, lengths and examples of a labelled data set");
  add_task_flags(*command, flags->task);
  command->add_option("--split", flags->split, "Split to show (default: all)");
  command->add_option(
      "--tokenizer", flags->tokenizer,
      "Tokenizer (a spiece.model file or the folder that holds it) to count lengths in "
      "tokens, and truncated rows");
  add_count(*command, "--examples", flags->examples, "Number of examples to show",
            {.min = 0, .max = kMostRows});
  command->add_flag("--json", flags->json, "Print the report as JSON");
  command->footer(
      "Examples:\n  convseq task sst2 --split validation\n"
      "  convseq task reviews.csv --source 'review: {text}' --target '{stars}'\n"
      "  convseq task --train a.csv --test b.csv --source 'review: {text}' --target '{stars}'");
  command->callback([flags] { show_task(*flags); });
}

}  // namespace convseq::cli
