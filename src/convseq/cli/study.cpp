#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>

#include "convseq/base/counted.h"
#include "convseq/base/log.h"
#include "convseq/base/machine.h"
#include "convseq/cli/commands.h"
#include "convseq/cli/commit.h"
#include "convseq/cli/options/engine_flags.h"
#include "convseq/cli/options/options.h"
#include "convseq/cli/options/training_flags.h"
#include "convseq/cli/signals.h"
#include "convseq/kernels/device.h"
#include "convseq/study/run/check.h"
#include "convseq/study/run/overview.h"
#include "convseq/study/run/score_table.h"
#include "convseq/study/run/worker.h"
#include "convseq/study/run/worker_pool.h"
#include "convseq/text/tokenizer.h"

namespace convseq::cli {
namespace {

namespace fs = std::filesystem;

struct StudyFlags {
  std::string study;
  std::string out;   // empty: studies/NAME
  std::string data;  // empty: as the study file says
  std::vector<std::string> only;
  bool json = false, scores = false;
  // of run
  int64_t jobs = 1;
  double minutes = 0, grace = 1;
  DeviceChoice device = DeviceChoice::Auto;
  bool retry = false, keep_models = false;
  bool check = false, no_check = false, worker = false;
  // of merge
  std::vector<std::string> sources;
};

// A study file, its folder and its plan.
struct OpenStudy {
  OpenStudy(const StudyFlags& flags, bool create)
      : limit{.minutes = flags.minutes, .grace = flags.grace},
        study(Study::load(flags.study)),
        folder(flags.out.empty() ? fs::path("studies") / study.name : fs::path(flags.out), create),
        digests(fs::exists(folder.path()) ? folder.path() / "digests.json" : fs::path()),
        plan(study, flags.data, digests),
        only(flags.only) {
    // Before the plan chooses by what has not failed.
    if (flags.retry) retry_failures();
    folder.refresh(plan);
    only.refuse_unknown(plan);
  }

  // Names what is missing first; empty: nothing is. Of the paths in a study file only that of the
  // tokenizer is relative to the current folder.
  std::string missing_data() const {
    return digests.missing().empty() ? "" : about_missing(digests.missing().front());
  }

  // The same for the cells that are to be computed.
  std::string missing_data_of_work() const {
    for (const ScheduledCell& each : schedule(plan, folder, only)) {
      if (const auto file = missing_file_in(each.cell->label.inputs)) return about_missing(*file);
    }
    return "";
  }

  std::string about_missing(const std::string& file) const {
    const std::string& tokenizer = study.tokenizer.path;
    if (!tokenizer.empty() && file == tokenizer_file(tokenizer).string()) {
      return file + ": no such tokenizer; a relative path starts in the current folder";
    }
    return file + ": no such data; --data names the folder that holds it";
  }

  // Ids depend on the contents of the data, so without it no result belongs to the plan.
  void write_scores() {
    const std::string missing = missing_data();
    if (missing.empty()) return folder.write_scores(plan);
    log::warning("{}: not written: {}", (folder.path() / "scores.jsonl").string(), missing);
  }

  // Only of what will be computed again: without a failure its group's rate is not chosen.
  void retry_failures() {
    for (const std::string& id : only.with_needs(plan)) folder.retry(id);
  }

  fs::path check_record() const { return folder.path() / "check.json"; }

  StudyOverview overview() { return convseq::overview(plan, folder, only, digests); }

  TimeLimit limit;  // first: the time to read the data counts
  Study study;
  StudyFolder folder;
  DataDigests digests;
  StudyPlan plan;
  CellFilter only;
};

void print(const StudyFlags& flags, const StudyOverview& overview, const std::string& text) {
  fmt::print("{}", flags.json ? overview.to_json().dump() + "\n" : text);
}

void plan_study(const StudyFlags& flags) {
  OpenStudy open(flags, false);
  const StudyOverview overview = open.overview();
  print(flags, overview, overview.plan_text());
}

void show_status(const StudyFlags& flags) {
  OpenStudy open(flags, false);
  require(fs::exists(open.folder.path()), "{}: no such folder", open.folder.path().string());
  open.write_scores();
  const StudyOverview overview = open.overview();
  const std::string scores = flags.scores ? score_table(open.folder.results(open.plan)) : "";
  print(flags, overview, overview.status_text() + scores);
  const int64_t merged = std::ssize(open.folder.merged());
  if (merged > 0 && !open.digests.missing().empty()) {
    log::warning("{} cannot be assigned to cells without the data",
                 counted(merged, "merged result"));
  }
}

void merge_results(const StudyFlags& flags) {
  OpenStudy open(flags, false);
  const MergeReport report =
      open.folder.merge(std::vector<fs::path>(flags.sources.begin(), flags.sources.end()));
  if (report.added > 0) fs::remove(open.check_record());  // the next run reproduces one of them
  for (const std::string& line : report.differences) log::warning("{}", line);
  const auto belongs = [&](const auto& each) { return open.plan.find(each.first) != nullptr; };
  const auto& merged = open.folder.merged();
  const bool has_ids = open.digests.missing().empty();
  if (has_ids && !merged.empty() && std::none_of(merged.begin(), merged.end(), belongs)) {
    log::warning(
        "none of the results is of a cell of {}: they are of another study, other data or "
        "an earlier version",
        open.study.name);
  }
  open.write_scores();
  fmt::print("{}: {} merged, {} already known\n", open.folder.path().string(),
             counted(report.added, "result"), report.known);
}

WorkerOptions worker_options(const StudyFlags& flags, const OpenStudy& open) {
  return {.only = open.only,
          .limit = open.limit,
          .interrupted = interrupted,
          .pool = flags.worker ? PoolLink::inherited() : PoolLink()};
}

// A worker that a shared GPU refuses must not go on with the CPU, hours long and with other
// numerics.
torch::Device device_of_cells(DeviceChoice choice) {
  if (choice == DeviceChoice::Cpu) return torch::kCPU;
  if (const std::string problem = kernels::cuda_problem(); !problem.empty()) {
    throw Error(problem + "; --device cpu computes without it", Error::Cause::Failure);
  }
  return device_of(choice);
}

CellRunner make_runner(const StudyFlags& flags, const OpenStudy& open, const TimeLimit& limit) {
  return {open.plan,
          open.folder,
          {.device = device_of_cells(flags.device),
           .commit = kCommit,
           .threads = hardware_threads(),
           .keep_models = flags.keep_models,
           .stop = [limit] { return interrupted() || limit.must_end(); }}};
}

enum class Work { Cells, Check };

// This program again, as one worker.
std::vector<std::string> worker_command(const StudyFlags& flags, const OpenStudy& open, Work work) {
  std::vector<std::string> command = {fs::read_symlink("/proc/self/exe").string(),
                                      "study",
                                      "run",
                                      flags.study,
                                      "--out",
                                      open.folder.path().string(),
                                      "--worker",
                                      "--device",
                                      std::string(name_of(flags.device))};
  const auto add = [&](const char* flag, const std::string& value) {
    command.insert(command.end(), {flag, value});
  };
  if (!flags.data.empty()) add("--data", flags.data);
  // One that replaces another has less time.
  constexpr double kSoon = 1e-3;
  if (flags.minutes > 0) add("--minutes", fmt::format("{}", std::max(kSoon, open.limit.left())));
  add("--grace", fmt::format("{}", flags.grace));
  for (const std::string& condition : flags.only) add("--only", condition);
  if (flags.keep_models) command.emplace_back("--keep-models");
  if (work == Work::Check) command.emplace_back("--check");
  return command;
}

// As `study status` does: a plan by which no cells are computed. That data is missing is said once,
// at the end.
void write_scores_of(StudyFlags flags) {
  flags.retry = false;
  OpenStudy open(flags, false);
  if (open.missing_data().empty()) open.write_scores();
}

void run_pool(const StudyFlags& flags, OpenStudy& open, Work work) {
  const int64_t each = std::max<int64_t>(1, hardware_threads() / flags.jobs);
  const std::string threads = std::to_string(each);
  ::setenv("OMP_NUM_THREADS", threads.c_str(), /*overwrite=*/0);
  const int worst = run_workers(open.folder, open.plan,
                                {.command = [&] { return worker_command(flags, open, work); },
                                 .workers = work == Work::Check ? 1 : flags.jobs,
                                 .limit = open.limit,
                                 .interrupted = interrupted,
                                 .each_minute = [&] { write_scores_of(flags); }});
  if (worst != 0 && !interrupted()) {
    throw Error(fmt::format("a worker ended with exit code {}", worst), Error::Cause::Failure);
  }
}

void run_one_worker(const StudyFlags& flags, OpenStudy& open) {
  const WorkerOptions options = worker_options(flags, open);
  CellRunner runner = make_runner(flags, open, options.limit);
  work_on(open.plan, open.folder, runner, options);
}

std::optional<Reproduction> check_here(const StudyFlags& flags, OpenStudy& open) {
  const WorkerOptions options = worker_options(flags, open);
  CellRunner runner = make_runner(flags, open, options.limit);
  log::set_level(log::Level::Warning);
  const auto found = reproduce_a_cell(open.plan, open.folder, runner, options);
  log::set_level(log::Level::Info);
  if (!found && !interrupted() && !options.limit.must_end()) {
    log::warning("no stored result of a run from scratch to reproduce");
  }
  return found;
}

// What a worker found, for the process that started it.
fs::path answer_to(const OpenStudy& open, pid_t process) {
  return open.folder.path() / "slots" / fmt::format("check-{}.json", process);
}

std::optional<Reproduction> check_by_worker(const StudyFlags& flags, OpenStudy& open) {
  const fs::path answer = answer_to(open, ::getpid());
  fs::remove(answer);
  run_pool(flags, open, Work::Check);
  if (!fs::exists(answer)) return std::nullopt;
  const auto found = Reproduction::from_json(read_json_file(answer));
  fs::remove(answer);
  return found;
}

// With several jobs by a worker, so that this process keeps no GPU memory while they compute.
void check_reproduction(const StudyFlags& flags, OpenStudy& open) {
  const bool from_elsewhere = !open.folder.merged().empty() && !fs::exists(open.check_record());
  if (flags.no_check || (!flags.check && !from_elsewhere)) return;
  const auto found = (flags.jobs > 1 ? check_by_worker : check_here)(flags, open);
  if (!found) return;
  if (!found->holds()) {
    throw Error("not reproduced: " + found->describe(), Error::Cause::Failure);
  }
  log::info("reproduced: {}", found->describe());
  Json record = found->to_json();
  record["commit"] = kCommit;
  write_json_file(open.check_record(), record);
}

// One of several processes, for the one that started it.
void work(const StudyFlags& flags, OpenStudy& open) {
  if (!flags.check) {
    run_one_worker(flags, open);
  } else if (const auto found = check_here(flags, open)) {
    write_json_file(answer_to(open, ::getppid()), found->to_json());
  }
}

void run_study(const StudyFlags& flags) {
  OpenStudy open(flags, true);
  if (const std::string missing = open.missing_data_of_work(); !missing.empty()) {
    fail("{}", missing);
  }
  if (flags.worker) {
    end_cleanly_on_signals();
    return work(flags, open);
  }
  end_on_signals();
  if (flags.retry) open.retry_failures();  // of the runs at the chosen rates, too
  check_reproduction(flags, open);
  const bool work_left = !schedule(open.plan, open.folder, open.only).empty();
  if (work_left && flags.jobs > 1) {
    run_pool(flags, open, Work::Cells);
  } else if (work_left) {
    run_one_worker(flags, open);
  }
  open.write_scores();
  const StudyOverview overview = open.overview();
  print(flags, overview, overview.status_text());
  throw_if_interrupted("{}: stopped; run the same command again to resume",
                       open.folder.path().string());
  if (!overview.failures.empty()) {
    throw Error(fmt::format("{} failed; {} computes them again",
                            counted(std::ssize(overview.failures), "cell"), OptionName("retry")),
                Error::Cause::Failure);
  }
}

void add_study_flags(CLI::App& command, StudyFlags& flags) {
  command.add_option("STUDY,--study", flags.study, "Study file, or the name of a built-in study")
      ->required();
  command.add_option("--out", flags.out, "Folder of the study (default: studies/NAME)");
  command.add_option("--data", flags.data, "Data folder (default: that of the study file)")
      ->envname("CONVSEQ_DATA");
}

void add_only_flag(CLI::App& command, StudyFlags& flags) {
  command
      .add_option(
          "--only", flags.only,
          "Filter by part, kind, model, mixer, start, task, learning_rate or seed; what the "
          "chosen cells need is included")
      ->type_name("NAME=VALUE,...")
      ->delimiter(',');
}

void add_run_flags(CLI::App& command, StudyFlags& flags) {
  add_count(command, "--jobs", flags.jobs, "Number of worker processes", {.max = 1024});
  add_real(command, "--minutes", flags.minutes,
           "Time limit in minutes, after which no new cell is started", {.above_min = true})
      ->default_str("");
  add_real(command, "--grace", flags.grace,
           "Grace period in minutes before running cells are stopped");
  add_device(command, flags.device);
  command.add_flag("--retry", flags.retry, "Compute failed cells again");
  command.add_flag("--keep-models", flags.keep_models, "Keep fine-tuned models, in cells/ID/run");
  CLI::Option* check = command.add_flag(
      "--check", flags.check,
      "Compute one stored cell again first, and stop if its score differs (the default after "
      "results of another machine were merged)");
  command.add_flag("--no-check", flags.no_check, "Do not compute a stored cell again")
      ->excludes(check);
  command.add_flag("--worker", flags.worker,
                   "Run as a worker process of another study run (--jobs starts them): no table at "
                   "the end; with --check, only compute a stored cell again");
}

CLI::App* add_subcommand(CLI::App& study, const std::string& name, const std::string& description,
                         const std::string& example, void (*run)(const StudyFlags&),
                         const std::shared_ptr<StudyFlags>& flags) {
  CLI::App* command = study.add_subcommand(name, description);
  add_study_flags(*command, *flags);
  command->footer("Example:\n  " + example);
  command->callback([flags, run] { run(*flags); });
  return command;
}

}  // namespace

void add_study(CLI::App& program) {
  CLI::App* study = program.add_subcommand(
      "study",
      "Compare models, initial weights and tasks over several seeds; resumes an interrupted study");
  study->require_subcommand(1);
  study->footer("Example:\n  convseq study run demo --jobs 2");
  const auto add = [&](const char* name, const char* description, const char* example,
                       void (*run)(const StudyFlags&)) {
    const auto flags = std::make_shared<StudyFlags>();
    return std::pair(add_subcommand(*study, name, description, example, run, flags), flags);
  };
  {
    const auto [command, flags] =
        add("plan", "Print the runs (cells) of a study and their estimated cost",
            "convseq study plan mini --data data", plan_study);
    add_only_flag(*command, *flags);
    command->add_flag("--json", flags->json, "Print the table as JSON");
  }
  {
    const auto [command, flags] =
        add("run", "Compute the runs (cells) of a study; resumes where it was interrupted",
            "convseq study run mini --jobs 6 --minutes 25 --only model=light", run_study);
    add_only_flag(*command, *flags);
    add_run_flags(*command, *flags);
    command->add_flag("--json", flags->json, "Print the table as JSON");
  }
  {
    const auto [command, flags] =
        add("status", "Print the progress of a study and write scores.jsonl",
            "convseq study status mini", show_status);
    add_only_flag(*command, *flags);
    command->add_flag("--scores", flags->scores, "Also print mean test scores");
    command->add_flag("--json", flags->json, "Print the table as JSON");
  }
  {
    const auto [command, flags] =
        add("merge", "Add the results that were computed on another machine",
            "convseq study merge mini other/scores.jsonl", merge_results);
    command->add_option("SOURCE,--source", flags->sources, "Study folders or scores.jsonl files")
        ->required();
  }
  add_study_report(*study);
}

}  // namespace convseq::cli
