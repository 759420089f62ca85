#include "convseq/study/run/study_folder.h"

#include <gtest/gtest.h>

#include <cmath>
#include <thread>

#include "convseq/study/run/check.h"
#include "convseq/study/run/overview.h"
#include "convseq/study/run/schedule.h"
#include "small_study.h"
#include "temp_folder.h"

namespace convseq {
namespace fs = std::filesystem;
using testing::message_of;
using testing::small_study;
using testing::TempFolder;

namespace {

class StudyFolderTest : public ::testing::Test {
 protected:
  static CellResult failure_of(const Cell& cell) {
    CellResult failure = cell.label;
    failure.failed = "broken";
    return failure;
  }
  static CellResult result_of(const Cell& cell) {
    CellResult result = cell.label;
    result.splits["validation"] = {.examples = 10, .metrics = {{"accuracy", 0.5}}};
    return result;
  }
  const Cell& first(CellKind kind) const {
    for (const Cell& cell : plan_.cells()) {
      if (cell.kind() == kind) return cell;
    }
    fail("no such cell");
  }
  CellState state_of(const Cell& cell) {
    for (const ScheduledCell& each : schedule(plan_, folder_, {})) {
      if (each.cell == &cell) return each.state;
    }
    fail("{} is not scheduled", cell.name());
  }

  TempFolder temporary_;
  StudyFolder folder_{temporary_ / "out"};
  DataDigests digests_;
  StudyPlan plan_{Study::from_json({small_study(), "study.json"}), {}, digests_};
};

TEST_F(StudyFolderTest, AFailureOfAnotherProcessIsSettledBeforeItIsRead) {
  const Cell& cell = first(CellKind::Synth);
  StudyFolder(folder_.path()).store(failure_of(cell));
  EXPECT_FALSE(folder_.has_failed(cell.id()));
  EXPECT_TRUE(folder_.is_settled(cell.id()));
}

TEST_F(StudyFolderTest, RefusesScoresWithoutTheirCellsButMergesThem) {
  const fs::path shipped = temporary_ / "shipped", scores = shipped / "scores.jsonl";
  fs::create_directories(shipped);
  write_scores(scores, {first(CellKind::Pretrain).label});
  for (const bool create : {false, true}) {
    EXPECT_EQ(message_of<Error>([&] { const StudyFolder refused(shipped, create); }),
              fmt::format("{0}: has scores without their cells; merge {0} into another folder",
                          shipped.string()));
  }
  EXPECT_EQ(read_scores(scores).size(), 1u);
  EXPECT_EQ(folder_.merge({shipped}).added, 1);
  fs::remove(scores);
  EXPECT_NE(message_of<Error>([&] { folder_.merge({shipped}); }), "");  // nothing to merge
}

TEST_F(StudyFolderTest, AMergeThatFailsLeavesNoFolder) {
  const fs::path fresh = temporary_ / "fresh", cut = temporary_ / "cut.jsonl";
  write_scores(cut, {first(CellKind::Pretrain).label});
  fs::resize_file(cut, fs::file_size(cut) / 2);
  StudyFolder folder(fresh, false);
  for (const fs::path& source : {cut, temporary_ / "nowhere.jsonl"}) {
    EXPECT_NE(message_of<Error>([&] { folder.merge({source}); }), "");
    EXPECT_FALSE(fs::exists(fresh));
  }
}

TEST_F(StudyFolderTest, AFailureThatAnotherProcessRetriesIsNoneAnyMore) {
  const Cell& cell = first(CellKind::Synth);
  folder_.store(failure_of(cell));
  folder_.refresh(plan_);
  EXPECT_EQ(state_of(cell), CellState::Failed);
  StudyFolder(folder_.path()).retry(cell.id());
  folder_.refresh(plan_);
  EXPECT_EQ(state_of(cell), CellState::Ready);
}

// Also where the process that retries it is killed: without the failure its group would wait for a
// learning rate, and the runs at the one that was chosen would be missing.
TEST_F(StudyFolderTest, AFailureThatIsRetriedStaysInTheScoresUntilItsCellIsComputed) {
  const Cell& failing = first(CellKind::Finetune);
  for (const Cell& cell : plan_.cells()) {
    folder_.store(&cell == &failing ? failure_of(cell) : result_of(cell));
  }
  folder_.refresh(plan_);  // chooses learning rates
  for (const Cell& cell : plan_.cells()) {
    if (!folder_.is_settled(cell.id())) folder_.store(result_of(cell));
  }
  folder_.write_scores(plan_);
  const fs::path scores = folder_.path() / "scores.jsonl";
  const std::vector<CellResult> before = read_scores(scores);
  EXPECT_EQ(std::ssize(before), testing::kSmallStudyCells);
  folder_.retry(failing.id());
  EXPECT_FALSE(folder_.is_settled(failing.id()));

  StudyFolder later(folder_.path());
  StudyPlan plan{Study::from_json({small_study(), "study.json"}), {}, digests_};
  later.refresh(plan);
  EXPECT_EQ(std::ssize(plan.cells()), testing::kSmallStudyCells - 1);  // one seed waits
  later.write_scores(plan);
  EXPECT_EQ(read_scores(scores), before);
  EXPECT_FALSE(later.has_failed(failing.id()));
  EXPECT_EQ(overview(plan, later, {}, digests_).total.left, 1);
  later.store(result_of(failing));
  later.write_scores(plan);
  for (const CellResult& result : read_scores(scores)) EXPECT_EQ(result.failed, "");
}

// Else it would be computed again and again.
TEST_F(StudyFolderTest, AMergedPretrainingThatFailsHereHasFailedWhereItsModelIsNeeded) {
  const Cell& pretraining = first(CellKind::Pretrain);
  const fs::path scores = temporary_ / "scores.jsonl";
  write_scores(scores, {pretraining.label});
  folder_.merge({scores});
  folder_.store(failure_of(pretraining));
  folder_.refresh(plan_);
  EXPECT_TRUE(folder_.is_done(pretraining.id()));
  EXPECT_EQ(state_of(pretraining), CellState::Failed);
  const StudyOverview all = overview(plan_, folder_, {}, digests_);
  ASSERT_EQ(all.failures.size(), 1u);
  EXPECT_NE(all.failures[0].find("broken"), std::string::npos);
}

TEST_F(StudyFolderTest, AMergedResultMakesUpForAFailureThatNothingNeeds) {
  const Cell& run = first(CellKind::Finetune);
  const fs::path scores = temporary_ / "scores.jsonl";
  write_scores(scores, {run.label});
  folder_.store(failure_of(run));
  folder_.merge({scores});
  folder_.refresh(plan_);
  EXPECT_TRUE(overview(plan_, folder_, {}, digests_).failures.empty());
}

TEST_F(StudyFolderTest, AMergedPretrainingIsComputedWhereItIsAskedForAndRunsNeedItsModel) {
  const auto wanted = [&](const std::vector<std::string>& conditions) {
    const auto cells = schedule(plan_, folder_, CellFilter(conditions));
    return std::ranges::count_if(
        cells, [](const ScheduledCell& each) { return each.cell->kind() == CellKind::Pretrain; });
  };
  const fs::path scores = temporary_ / "scores.jsonl";
  const auto merge = [&](CellKind kind) {
    std::vector<CellResult> results;
    for (const Cell& cell : plan_.cells()) {
      if (cell.kind() == kind) results.push_back(cell.label);
    }
    write_scores(scores, results);
    folder_.merge({scores});
  };
  merge(CellKind::Pretrain);
  EXPECT_EQ(wanted({"kind=pretrain"}), testing::kSmallStudyPretrainings);
  EXPECT_EQ(wanted({"start=scratch"}), 0);
  merge(CellKind::Finetune);
  EXPECT_EQ(wanted({"kind=pretrain"}), 0);
}

TEST(Reproduction, OfAScoreThatIsNoNumberDoesNotHold) {
  Reproduction found{.metric = "accuracy", .stored = 0.5, .again = 0.5};
  EXPECT_TRUE(Reproduction::from_json(found.to_json()).holds());
  found.again = std::nan("");
  EXPECT_FALSE(Reproduction::from_json(parse_json(found.to_json().dump())).holds());
}

TEST_F(StudyFolderTest, MergesAtTheSameTimeKeepTheResultsOfAll) {
  std::vector<StudyFolder> folders;  // all have read that nothing is merged
  for (size_t i = 0; i < plan_.cells().size(); ++i) folders.emplace_back(folder_.path());
  std::vector<std::thread> threads;
  for (size_t i = 0; i < folders.size(); ++i) {
    const fs::path scores = temporary_ / fmt::format("scores-{}.jsonl", i);
    write_scores(scores, {plan_.cells()[i].label});
    threads.emplace_back([&folder = folders[i], scores] { folder.merge({scores}); });
  }
  for (std::thread& each : threads) each.join();
  EXPECT_EQ(StudyFolder(folder_.path()).merged().size(), plan_.cells().size());
}

TEST_F(StudyFolderTest, TheOverviewCountsOnlySeedsThatTheFilterTakes) {
  const auto left = [&](const std::vector<std::string>& conditions) {
    return overview(plan_, folder_, CellFilter(conditions), digests_).total.left;
  };
  EXPECT_EQ(left({"kind=finetune"}), testing::kSmallStudyFinetunings);
  EXPECT_EQ(left({"kind=finetune", "seed=1"}), 8);  // both learning rates
  EXPECT_EQ(left({"kind=finetune", "seed=2"}), 4);
  for (const char* rate : {"learning_rate=0.01", "learning_rate=0.03"}) {  // each may be chosen
    EXPECT_EQ(left({"kind=finetune", "seed=2", rate}), 4);
  }
}

}  // namespace
}  // namespace convseq
