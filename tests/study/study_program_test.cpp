// `convseq study` as a program: killed, repeated, shared by processes, merged.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/resource.h>

#include <csignal>
#include <fstream>
#include <set>

#include "child_process.h"
#include "convseq/base/random.h"
#include "small_study.h"
#include "training_commands.h"

namespace convseq {
namespace fs = std::filesystem;
using testing::ChildProcess;
using testing::Outcome;
using testing::small_study;
using testing::TempFolder;

namespace {

class StudyProgram : public ::testing::Test {
 protected:
  StudyProgram() { write_study(small_study()); }

  void write_study(const Json& study) { folder_.file("study.json", study.dump()); }

  std::string line(const std::string& command, const fs::path& out,
                   const std::string& more = "") const {
    return testing::program_line(fmt::format(
        "study {} {} --out {} {}", command, (folder_ / "study.json").string(), out.string(), more));
  }
  std::string run_line(const fs::path& out, const std::string& more = "") const {
    return line("run", out, "--device cpu " + more);
  }
  Outcome run(const fs::path& out, const std::string& more = "") const {
    return testing::run_shell(run_line(out, more));
  }

  // The undisturbed run, made once for all tests.
  static const TempFolder& finished() {
    static const TempFolder folder;
    static const bool made = [] {
      folder.file("study.json", small_study().dump());
      const Outcome outcome = testing::run_shell(testing::program_line(fmt::format(
          "study run {0}/study.json --out {0}/out --device cpu", folder.path().string())));
      return outcome.exit_code == 0;
    }();
    EXPECT_TRUE(made);
    return folder;
  }

  static std::vector<fs::path> result_files(const fs::path& out) {
    std::vector<fs::path> files;
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(out / "cells", error)) {
      if (fs::exists(entry.path() / "result.json")) files.push_back(entry.path() / "result.json");
    }
    return files;
  }

  // The lines of scores.jsonl without what the clock says.
  static std::vector<Json> scores(const fs::path& out) {
    std::vector<Json> lines = testing::read_json_lines(out / "scores.jsonl");
    for (Json& line : lines) {
      for (const char* key : {"seconds", "total_seconds", "finished"}) line.erase(key);
    }
    return lines;
  }

  // Those of the undisturbed run, with other test accuracies.
  fs::path scores_with_more(double accuracy) const {
    std::string text;
    for (Json each : testing::read_json_lines(finished() / "out" / "scores.jsonl")) {
      if (each["kind"] == "finetune") {
        Json& test = each["splits"]["test"]["metrics"]["accuracy"];
        test = test.get<double>() + accuracy;
      }
      text += each.dump() + "\n";
    }
    return folder_.file("changed.jsonl", text);
  }

  static size_t cells_in(const std::string& output) {  // lines of finished cells
    size_t count = 0;
    std::istringstream lines(output);
    for (std::string line; std::getline(lines, line);) {
      count += line.ends_with(" s") && line.find(':') != line.npos ? 1 : 0;
    }
    return count;
  }

  // Unlike the clock, the CPU time depends little on what else the machine does.
  static double cpu_seconds_of_children() {
    rusage usage{};
    ::getrusage(RUSAGE_CHILDREN, &usage);
    const auto seconds = [](const timeval& time) {
      return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
    };
    return seconds(usage.ru_utime) + seconds(usage.ru_stime);
  }

  // The processes that compute a cell now. A process id in a lock that nobody holds is an old one.
  static std::set<pid_t> busy_workers(const fs::path& out) {
    std::set<pid_t> found;
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(out / "cells", error)) {
      const int file = ::open((entry.path() / "lock").c_str(), O_RDONLY | O_CLOEXEC);
      if (file < 0) continue;
      const bool held = ::flock(file, LOCK_SH | LOCK_NB) != 0;
      char text[32] = "";
      const bool read = ::pread(file, text, sizeof text - 1, 0) > 0;
      ::close(file);
      if (held && read) found.insert(std::atoi(text));
    }
    return found;
  }

  // Workers end a moment after a pool that is killed.
  static void wait_for_orphans(const fs::path& out) {
    const auto has_out = [&](const fs::path& process) {
      std::ifstream file(process / "cmdline", std::ios::binary);
      const std::string words{std::istreambuf_iterator<char>(file), {}};
      return words.find(out.string() + '\0') != words.npos;
    };
    const auto one_runs = [&] {
      for (const auto& entry : fs::directory_iterator("/proc")) {
        if (has_out(entry.path())) return true;
      }
      return false;
    };
    while (one_runs()) std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }

  // A study whose first cell, which all others need, takes long enough to be found.
  static Json slow_study() {
    Json study = small_study();
    study["synth"]["corpus"]["documents"] = 60'000;
    return study;
  }

  TempFolder folder_;
};

TEST_F(StudyProgram, ComputesEveryCellOnceAndWritesTheScores) {
  const fs::path out = finished() / "out";
  EXPECT_EQ(result_files(out).size(), static_cast<size_t>(testing::kSmallStudyCells));
  const std::vector<Json> lines = scores(out);
  EXPECT_EQ(lines.size(), static_cast<size_t>(testing::kSmallStudyCells));
  int chosen = 0;
  for (const Json& line : lines) {
    if (line["kind"] == "pretrain") {
      EXPECT_GT(line["nll"].get<double>(), 0) << line;
    }
    if (line["kind"] != "finetune") continue;
    EXPECT_EQ(line["splits"]["test"]["outcomes"]["examples"], 24) << line;
    EXPECT_EQ(line["parts"], Json::array({"main"}));
    chosen += line.contains("chosen") ? 1 : 0;
  }
  EXPECT_EQ(chosen, 8);  // of 2 models, 2 starts and 2 seeds
}

TEST_F(StudyProgram, ARerunDoesNothing) {
  const fs::path out = folder_ / "out";
  fs::copy(finished() / "out", out, fs::copy_options::recursive);
  const double before = cpu_seconds_of_children();
  const Outcome outcome = run(out, "--jobs 2");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.output;
  EXPECT_EQ(cells_in(outcome.output), 0u) << outcome.output;
  EXPECT_LT(cpu_seconds_of_children() - before, 10);  // most of it is loading libtorch
}

TEST_F(StudyProgram, ADeletedCellIsComputedAlone) {
  const fs::path out = folder_ / "out";
  fs::copy(finished() / "out", out, fs::copy_options::recursive);
  const std::vector<Json> before = scores(out);
  for (const Json& line : before) {
    if (line["kind"] != "finetune") continue;
    fs::remove_all(out / "cells" / line["id"].get<std::string>());
    break;
  }
  const Outcome outcome = run(out);
  EXPECT_EQ(cells_in(outcome.output), 1u) << outcome.output;
  EXPECT_EQ(scores(out), before);
}

// Every process runs on one thread, so the numbers are those of the undisturbed run.
TEST_F(StudyProgram, KilledAtRandomMomentsItLosesAtMostTheRunningCells) {
  const fs::path out = folder_ / "out";
  Random random(7);
  std::map<fs::path, fs::file_time_type> known;
  for (int kill = 0; kill < 12; ++kill) {
    ChildProcess process(run_line(out), folder_ / "log");
    std::this_thread::sleep_for(std::chrono::milliseconds(300 + random.below(2500)));
    // On a busy machine that is too early for a result; the last ones wait for another one.
    if (kill >= 9) process.wait_until([&] { return result_files(out).size() > known.size(); });
    process.signal(SIGKILL);
    process.wait();
    for (const auto& [file, time] : known) EXPECT_EQ(fs::last_write_time(file), time) << file;
    for (const fs::path& file : result_files(out)) known[file] = fs::last_write_time(file);
  }
  EXPECT_FALSE(known.empty());
  const Outcome outcome = run(out);
  EXPECT_EQ(outcome.exit_code, 0) << outcome.output;
  EXPECT_EQ(scores(out), scores(finished() / "out"));
}

TEST_F(StudyProgram, TwoProcessesNeverComputeTheSameCell) {
  const fs::path out = folder_ / "out";
  ChildProcess first(run_line(out), folder_ / "first");
  ChildProcess second(run_line(out), folder_ / "second");
  first.wait();
  second.wait();
  EXPECT_EQ(first.exit_code(), 0) << read_text_file(folder_ / "first");
  EXPECT_EQ(second.exit_code(), 0) << read_text_file(folder_ / "second");
  const size_t by_first = cells_in(read_text_file(folder_ / "first"));
  const size_t by_second = cells_in(read_text_file(folder_ / "second"));
  // On a busy machine one of them may do everything.
  EXPECT_EQ(by_first + by_second, static_cast<size_t>(testing::kSmallStudyCells));
  EXPECT_EQ(scores(out), scores(finished() / "out"));
}

TEST_F(StudyProgram, WorkersShareTheCells) {
  const fs::path out = folder_ / "out";
  const Outcome outcome = run(out, "--jobs 2");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.output;
  EXPECT_EQ(cells_in(outcome.output), static_cast<size_t>(testing::kSmallStudyCells));
  EXPECT_EQ(scores(out), scores(finished() / "out"));
}

TEST_F(StudyProgram, WorkersPretrainForALaterPartBeforeTheyEndAnEarlierOne) {
  Json study = small_study();
  Json later = study["parts"][0];
  study["parts"][0]["models"] = Json::array({"light"});
  later["name"] = "later";
  later["models"] = Json::array({"transformer"});
  study["parts"].push_back(later);
  write_study(study);
  const Outcome outcome = run(folder_ / "out", "--jobs 2");
  ASSERT_EQ(outcome.exit_code, 0) << outcome.output;
  const size_t pretrained = outcome.output.find("pretrain transformer");
  ASSERT_NE(pretrained, std::string::npos) << outcome.output;
  EXPECT_LT(pretrained, outcome.output.rfind("finetune light")) << outcome.output;
}

TEST_F(StudyProgram, ASignalStopsTheWorkersAndTheSameCommandResumes) {
  const fs::path out = folder_ / "out";
  ChildProcess process(run_line(out, "--jobs 2"), folder_ / "log");
  process.wait_until([&] { return result_files(out).size() > 6; });
  process.signal(SIGINT);
  process.wait();
  EXPECT_EQ(process.exit_code(), 130) << read_text_file(folder_ / "log");
  EXPECT_LT(result_files(out).size(), static_cast<size_t>(testing::kSmallStudyCells));
  EXPECT_EQ(run(out).exit_code, 0);
  EXPECT_EQ(scores(out), scores(finished() / "out"));
}

TEST_F(StudyProgram, AFailingCellIsReportedStopsNothingAndIsTriedAgainOnRequest) {
  Json study = small_study();
  study["models"]["broken"] = study["models"]["light"];
  study["models"]["broken"]["finetuning"] = {{"answer", "pooled"}};
  study["models"]["broken"]["pretraining"] = {{"target", 2}};  // too short for a span
  study["parts"][0]["models"].push_back("broken");
  write_study(study);
  const fs::path out = folder_ / "out";
  const Outcome outcome = run(out);
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_NE(outcome.output.find("failed: pretrain broken"), std::string::npos) << outcome.output;
  EXPECT_NE(outcome.output.find("1 cell failed; --retry computes them again"), std::string::npos);
  // Its runs from scratch need no pre-training.
  EXPECT_EQ(result_files(out).size(), static_cast<size_t>(testing::kSmallStudyCells) + 3);
  EXPECT_EQ(cells_in(run(out).output), 0u);
  EXPECT_NE(run(out, "--retry").output.find("failed: pretrain broken"), std::string::npos);
  run(out, "--retry --only model=light");  // what is not computed again stays as it is
  EXPECT_NE(run(out).output.find("failed: pretrain broken"), std::string::npos);
  EXPECT_EQ(cells_in(run(out).output), 0u);
  const Outcome needed = run(out, "--only model=broken,start=pretrained,kind=finetune");
  EXPECT_EQ(needed.exit_code, 1) << "what these runs need has failed";
  EXPECT_NE(needed.output.find("failed: pretrain broken"), std::string::npos) << needed.output;
}

TEST_F(StudyProgram, ARetryThatStopsEarlyKeepsTheScoresAndTheNextRunGoesOnWithIt) {
  const fs::path out = folder_ / "out";
  fs::copy(finished() / "out", out, fs::copy_options::recursive);
  const std::vector<Json> complete = scores(out);
  for (Json each : complete) {
    if (each["kind"] != "finetune" || each.contains("chosen")) continue;
    const fs::path cell = out / "cells" / each["id"].get<std::string>();
    each["failed"] = "broken";
    write_json_file(cell / "failed.json", each);
    fs::remove(cell / "result.json");
    break;
  }
  testing::run_shell(line("status", out));
  const std::vector<Json> before = scores(out);
  EXPECT_EQ(before.size(), complete.size());
  EXPECT_NE(before, complete);
  const Outcome stopped = run(out, "--retry --minutes 1e-6");
  EXPECT_EQ(cells_in(stopped.output), 0u) << stopped.output;
  EXPECT_EQ(scores(out), before);
  const Outcome outcome = run(out);
  EXPECT_EQ(cells_in(outcome.output), 1u) << outcome.output;
  EXPECT_EQ(scores(out), complete);
}

TEST_F(StudyProgram, ACorpusHasEveryFileThatTheStudyNames) {
  Json study = small_study();
  study["data"] = folder_.path().string();
  const Json files = {"books.jsonl", "dev-blog.jsonl", "validation.jsonl"};
  for (const Json& file : files) {
    folder_.file(file.get<std::string>(), "{\"text\": \"a few words of plain text\"}\n");
  }
  study["corpora"]["own"]["train"] = files;
  study["parts"][0]["corpus"] = "own";
  write_study(study);
  const fs::path out = folder_ / "out";
  ASSERT_EQ(run(out, "--only kind=shards").exit_code, 0);
  size_t most = 0;
  for (const auto& entry : fs::recursive_directory_iterator(out / "cells")) {
    if (entry.path().filename() != "manifest.json") continue;
    most = std::max(most, read_json_file(entry.path()).at("corpus").size());
  }
  EXPECT_EQ(most, files.size()) << "also those that look like held-out data";
}

TEST_F(StudyProgram, OnlySomeCellsAndWhatTheyNeed) {
  const fs::path out = folder_ / "out";
  EXPECT_EQ(run(out, "--only model=light,start=pretrained,kind=finetune").exit_code, 0);
  // The data, its tokenizer and shards, a pre-training, two learning rates and another seed.
  EXPECT_EQ(result_files(out).size(), 4u + 1 + 3);
}

TEST_F(StudyProgram, MergedScoresAreKnownAndOneIsReproducedFirst) {
  const fs::path out = folder_ / "out", scores_file = finished() / "out" / "scores.jsonl";
  const Outcome merged = testing::run_shell(line("merge", out, scores_file.string()));
  EXPECT_NE(merged.output.find("18 results merged, 0 already known"), std::string::npos)
      << merged.output;
  EXPECT_EQ(scores(out), scores(finished() / "out"));
  const Outcome outcome = run(out);
  EXPECT_NE(outcome.output.find("reproduced: finetune"), std::string::npos) << outcome.output;
  EXPECT_EQ(cells_in(outcome.output), 0u) << outcome.output;
  EXPECT_EQ(run(out).output.find("reproduced"), std::string::npos);
  fs::remove(out / "merged.jsonl");
  testing::run_shell(line("merge", out, scores_file.string()));  // new to this folder again
  EXPECT_NE(run(out).output.find("reproduced: finetune"), std::string::npos);
  // A new seed needs the pre-trained model, which is not here: it is trained again.
  Json study = small_study();
  study["parts"][0]["models"] = Json::array({"light"});
  study["parts"][0]["starts"] = Json::array({"pretrained"});
  study["parts"][0]["seeds"] = 3;
  write_study(study);
  const Outcome more = run(out);
  EXPECT_NE(more.output.find("pretrain light"), std::string::npos) << more.output;
  EXPECT_NE(more.output.find("seed=3"), std::string::npos) << more.output;
  EXPECT_EQ(more.output.find("seed=2"), std::string::npos) << more.output;
}

TEST_F(StudyProgram, ARenamedModelKeepsItsResults) {
  const fs::path out = folder_ / "out", scores_file = finished() / "out" / "scores.jsonl";
  Json study = small_study();
  study["models"]["renamed"] = study["models"]["light"];
  study["models"].erase("light");
  for (Json& model : study["parts"][0]["models"]) {
    if (model == "light") model = "renamed";
  }
  write_study(study);
  EXPECT_EQ(testing::run_shell(line("merge", out, scores_file.string())).exit_code, 0);
  EXPECT_EQ(cells_in(run(out, "--no-check").output), 0u);
  const auto lines = testing::read_json_lines(out / "scores.jsonl");
  EXPECT_EQ(lines.size(), static_cast<size_t>(testing::kSmallStudyCells));
  for (const Json& line : lines) EXPECT_NE(line.value("model", ""), "light") << line.dump();
}

TEST_F(StudyProgram, AScoreThatIsNotReproducedStopsTheRun) {
  const fs::path out = folder_ / "out", wrong = scores_with_more(0.5);
  EXPECT_EQ(testing::run_shell(line("merge", out, wrong.string())).exit_code, 0);
  for (const char* how : {"", "--jobs 2", ""}) {
    const Outcome outcome = run(out, how);
    EXPECT_EQ(outcome.exit_code, 1) << outcome.output;
    EXPECT_NE(outcome.output.find("not reproduced"), std::string::npos) << outcome.output;
    EXPECT_EQ(outcome.output.find("worker"), std::string::npos) << outcome.output;
  }
}

// Its name says neither which CPU it has nor how many threads computed.
TEST_F(StudyProgram, AScoreMayDifferByTheToleranceAlsoOnAMachineOfTheSameName) {
  const fs::path out = folder_ / "out", near = scores_with_more(0.01);
  EXPECT_EQ(testing::run_shell(line("merge", out, near.string())).exit_code, 0);
  const Outcome outcome = run(out);
  EXPECT_EQ(outcome.exit_code, 0) << outcome.output;
  EXPECT_NE(outcome.output.find("(allowed difference: 0.02)"), std::string::npos) << outcome.output;
}

// Of a tokenizer of synthetic text for a task in files only the tokenizer needs the synthetic text.
TEST_F(StudyProgram, AReproductionFirstMakesAlsoWhatIsNeededIndirectly) {
  std::string rows;
  for (int i = 0; i < 16; ++i) {
    const char* label = i % 2 == 0 ? "kind" : "rude";
    rows += Json{{"text", fmt::format("{} {}", label, i)}, {"label", label}}.dump() + "\n";
  }
  for (const char* file : {"train.jsonl", "validation.jsonl", "test.jsonl"}) {
    folder_.file(file, rows);
  }
  folder_.file("task.json", R"({"name": "mine", "description": "mine",
    "files": {"train": "train.jsonl", "validation": "validation.jsonl", "test": "test.jsonl"},
    "source": "{text}", "target": "{label}", "labels": ["kind", "rude"]})");
  Json study = small_study();
  study["tasks"] = Json::object();
  study["tasks"]["mine"]["task"] = (folder_ / "task.json").string();
  study["parts"][0]["tasks"] = Json::array({"mine"});
  study["parts"][0]["models"] = Json::array({"light"});
  study["parts"][0]["starts"] = Json::array({"scratch"});
  write_study(study);
  const fs::path first = folder_ / "first", out = folder_ / "out";
  const Outcome made = run(first);
  ASSERT_EQ(made.exit_code, 0) << made.output;
  EXPECT_EQ(testing::run_shell(line("merge", out, first.string())).exit_code, 0);
  const Outcome outcome = run(out);
  EXPECT_EQ(outcome.exit_code, 0) << outcome.output;
  EXPECT_NE(outcome.output.find("reproduced: finetune"), std::string::npos) << outcome.output;
}

TEST_F(StudyProgram, WithoutItsDataAMergeWritesNoScoresAndSaysSo) {
  Json study = small_study();
  study["data"] = folder_.path().string();
  study["corpora"]["main"]["train"] = Json::array({"no.jsonl"});
  write_study(study);
  const fs::path out = folder_ / "out", scores_file = finished() / "out" / "scores.jsonl";
  const Outcome outcome = testing::run_shell(line("merge", out, scores_file.string()));
  EXPECT_EQ(outcome.exit_code, 0) << outcome.output;
  EXPECT_NE(outcome.output.find("scores.jsonl: not written: " + (folder_ / "no.jsonl").string() +
                                ": no such data; --data names the folder that holds it"),
            std::string::npos)
      << outcome.output;
  EXPECT_EQ(outcome.output.find("another study"), std::string::npos) << outcome.output;
  EXPECT_FALSE(fs::exists(out / "scores.jsonl"));
}

TEST_F(StudyProgram, ARunNeedsTheDataOfItsOwnCellsOnly) {
  Json study = small_study();
  study["data"] = folder_.path().string();
  study["corpora"]["other"] = study["corpora"]["main"];
  study["corpora"]["other"]["train"] = Json::array({"no.jsonl"});
  Json part = study["parts"][0];
  part["name"] = "second";
  part["corpus"] = "other";
  part["starts"] = Json::array({"pretrained"});
  study["parts"].push_back(part);
  write_study(study);
  const fs::path out = folder_ / "out";
  const std::string missing = (folder_ / "no.jsonl").string() + ": no such data";
  const Outcome some = run(out, "--only model=light,start=scratch");
  EXPECT_EQ(some.exit_code, 0) << some.output;
  EXPECT_NE(some.output.find("not written: " + missing), std::string::npos) << some.output;
  EXPECT_EQ(result_files(out).size(), 2 + testing::kSmallStudyFinetunings / 4);
  const Outcome all = run(out);
  EXPECT_EQ(all.exit_code, 2);
  EXPECT_EQ(all.output.find("convseq: " + missing), 0) << all.output;
}

TEST_F(StudyProgram, AMissingTokenizerIsNotLookedUpInTheDataFolder) {
  Json study = small_study();
  study["tokenizer"] = "no/such/tokenizer";
  write_study(study);
  const Outcome outcome = run(folder_ / "out");
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_EQ(outcome.output,
            "convseq: no/such/tokenizer: no such tokenizer; a relative path starts in the current "
            "folder\n");
}

TEST_F(StudyProgram, AWorkerReproducesAScoreBeforeTheOthersBegin) {
  const fs::path out = folder_ / "out", scores_file = finished() / "out" / "scores.jsonl";
  EXPECT_EQ(testing::run_shell(line("merge", out, scores_file.string())).exit_code, 0);
  const Outcome outcome = run(out, "--jobs 2");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.output;
  EXPECT_NE(outcome.output.find("reproduced: finetune"), std::string::npos) << outcome.output;
  EXPECT_EQ(run(out, "--jobs 2").output.find("reproduced"), std::string::npos);
}

TEST_F(StudyProgram, TwoScoresOfACellAreReportedWithBothValues) {
  const fs::path out = folder_ / "out";
  std::string text;
  for (Json line : testing::read_json_lines(finished() / "out" / "scores.jsonl")) {
    if (line["kind"] == "pretrain") line["nll"] = 1.5;
    line["finished"] = "2030-01-01T00:00:00Z";
    text += line.dump() + "\n";
  }
  const fs::path later = folder_.file("later.jsonl", text);
  const std::string first = (finished() / "out" / "scores.jsonl").string();
  const Outcome merged = testing::run_shell(line("merge", out, first + " " + later.string()));
  EXPECT_NE(merged.output.find(" and 1.5"), std::string::npos) << merged.output;
  EXPECT_EQ(scores(out), scores(finished() / "out"));  // the older ones are kept
}

TEST_F(StudyProgram, AWorkerThatDiesTwiceOfACellGivesItUp) {
  const fs::path out = folder_ / "out";
  write_study(slow_study());
  ChildProcess pool(run_line(out, "--jobs 3"), folder_ / "pool");
  std::set<pid_t> killed;
  // To the end of the pool, which gives up.
  pool.wait_until([&] {
    for (const pid_t worker : busy_workers(out)) {
      if (killed.insert(worker).second) ::kill(worker, SIGKILL);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    return false;
  });
  pool.wait();
  EXPECT_EQ(killed.size(), 2u);
  const std::string output = read_text_file(folder_ / "pool");
  EXPECT_NE(output.find("failed: synth: its worker died 2 times; the last one was killed by "
                        "signal 9"),
            std::string::npos)
      << output;
}

TEST_F(StudyProgram, KilledWithItsPoolAWorkerIsNoDeathOfItsCell) {
  const fs::path out = folder_ / "out";
  write_study(slow_study());
  ChildProcess pool(run_line(out, "--jobs 2"), folder_ / "pool");
  std::set<pid_t> busy;
  pool.wait_until([&] { return !(busy = busy_workers(out)).empty(); });
  ASSERT_EQ(busy.size(), 1u);
  ::kill(*busy.begin(), SIGKILL);
  pool.signal(SIGKILL);
  pool.wait();
  wait_for_orphans(out);
  for (const auto& entry : fs::directory_iterator(out / "cells")) {
    EXPECT_FALSE(fs::exists(entry.path() / "deaths"));
  }
}

using GpuStudyProgram = StudyProgram;

TEST_F(GpuStudyProgram, WorkersShareAGpuAndAStoredScoreIsReproduced) {
  Json study = small_study();
  for (const char* model : {"light", "transformer"}) study["models"][model]["set"]["d_kv"] = 64;
  write_study(study);
  const fs::path out = folder_ / "out";
  const Outcome outcome = testing::run_shell(line("run", out, "--device cuda --jobs 3"));
  EXPECT_EQ(outcome.exit_code, 0) << outcome.output;
  EXPECT_EQ(result_files(out).size(), static_cast<size_t>(testing::kSmallStudyCells));
  const Outcome again = testing::run_shell(line("run", out, "--device cuda --check"));
  EXPECT_NE(again.output.find("reproduced: finetune"), std::string::npos) << again.output;
  EXPECT_EQ(again.output.find("not reproduced"), std::string::npos) << again.output;
}

TEST_F(StudyProgram, ThePlanCountsCellsTokensAndStepsWithoutRunningThem) {
  const Outcome outcome = testing::run_shell(line("plan", folder_ / "out", "--json"));
  const Json plan = parse_json(outcome.output);
  EXPECT_EQ(plan["total"]["pretrainings"], testing::kSmallStudyPretrainings);
  EXPECT_EQ(plan["total"]["finetunings"], testing::kSmallStudyFinetunings);
  EXPECT_EQ(plan["total"]["tokens"], 2 * 6 * 4 * 32);
  EXPECT_EQ(plan["total"]["steps"], 12 * 12);
  EXPECT_FALSE(fs::exists(folder_ / "out"));
}

}  // namespace
}  // namespace convseq
