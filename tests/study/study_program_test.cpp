// `convseq study` as a program: killed, repeated, shared by processes, merged.
#include <gtest/gtest.h>

#include <csignal>
#include <fstream>
#include <regex>

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

  static size_t cells_in(const std::string& output) {  // lines of finished cells
    size_t count = 0;
    std::istringstream lines(output);
    for (std::string line; std::getline(lines, line);) {
      count += line.ends_with(" s") && line.find(':') != line.npos ? 1 : 0;
    }
    return count;
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
    if (line["kind"] == "pretrain") EXPECT_GT(line["nll"].get<double>(), 0) << line;
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
  const auto start = std::chrono::steady_clock::now();
  const Outcome outcome = run(out, "--jobs 2");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.output;
  EXPECT_EQ(cells_in(outcome.output), 0u) << outcome.output;
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(10));
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
  EXPECT_EQ(by_first + by_second, static_cast<size_t>(testing::kSmallStudyCells));
  EXPECT_GT(by_first, 0u);
  EXPECT_GT(by_second, 0u);
  EXPECT_EQ(scores(out), scores(finished() / "out"));
}

TEST_F(StudyProgram, WorkersShareTheCells) {
  const fs::path out = folder_ / "out";
  const Outcome outcome = run(out, "--jobs 2");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.output;
  EXPECT_EQ(cells_in(outcome.output), static_cast<size_t>(testing::kSmallStudyCells));
  EXPECT_EQ(scores(out), scores(finished() / "out"));
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
  EXPECT_NE(merged.output.find("18 results taken in, 0 known"), std::string::npos) << merged.output;
  EXPECT_EQ(scores(out), scores(finished() / "out"));
  const Outcome outcome = run(out);
  EXPECT_NE(outcome.output.find("reproduced: finetune"), std::string::npos) << outcome.output;
  EXPECT_EQ(cells_in(outcome.output), 0u) << outcome.output;
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
  const fs::path out = folder_ / "out";
  std::string text;
  for (Json line : testing::read_json_lines(finished() / "out" / "scores.jsonl")) {
    if (line["kind"] == "finetune") line["splits"]["test"]["metrics"]["accuracy"] = 0.123;
    text += line.dump() + "\n";
  }
  const fs::path wrong = folder_.file("wrong.jsonl", text);
  EXPECT_EQ(testing::run_shell(line("merge", out, wrong.string())).exit_code, 0);
  const Outcome outcome = run(out);
  EXPECT_EQ(outcome.exit_code, 1) << outcome.output;
  EXPECT_NE(outcome.output.find("not reproduced"), std::string::npos) << outcome.output;
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
  // The first cell takes long enough to be found.
  Json study = small_study();
  study["synth"]["corpus"]["documents"] = 60'000;
  write_study(study);
  ChildProcess pool(run_line(out, "--jobs 2"), folder_ / "pool");
  int kills = 0;
  // To the end: another worker may take the cell before the first one's death is noticed.
  pool.wait_until([&] {
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(out / "cells", error)) {
      std::ifstream lock(entry.path() / "lock");
      pid_t holder = 0;
      if (!(lock >> holder) || fs::exists(entry.path() / "result.json")) continue;
      if (::kill(holder, SIGKILL) == 0) ++kills;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    return false;
  });
  pool.wait();
  EXPECT_GE(kills, 2);
  const std::string output = read_text_file(folder_ / "pool");
  EXPECT_TRUE(
      std::regex_search(output, std::regex("failed: synth: its worker was killed [23] times")))
      << output;
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
