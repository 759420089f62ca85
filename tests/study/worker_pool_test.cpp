#include "convseq/study/run/worker_pool.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <sstream>
#include <thread>

#include "small_study.h"
#include "temp_folder.h"

namespace convseq {
namespace fs = std::filesystem;
using testing::small_study;
using testing::TempFolder;
using namespace std::chrono_literals;

namespace {

// A worker that does what its environment says instead of computing: "begin:ID sleep:MS kill", …
TEST(FakeWorker, DISABLED_DoesWhatItIsTold) {
  const char* folder_name = std::getenv("FAKE_FOLDER");
  const char* deeds = std::getenv("FAKE_DEEDS");
  ASSERT_TRUE(folder_name != nullptr && deeds != nullptr);
  StudyFolder folder(folder_name);
  const PoolLink pool = PoolLink::inherited();
  ASSERT_TRUE(pool.connected());
  std::optional<CellLock> lock;
  std::istringstream words(deeds);
  for (std::string word; words >> word;) {
    const std::string deed = word.substr(0, word.find(':'));
    const std::string id = word.substr(word.find(':') + 1);
    if (deed == "begin") {
      fs::create_directories(folder.cell(id));
      // A test that asks whether it is held locks it for a moment.
      while (!(lock = CellLock::try_to_get(folder.lock_file(id)))) std::this_thread::sleep_for(1ms);
      pool.begin(id, *lock);
    }
    if (deed == "fail") {
      folder.store({.id = id, .inputs = Json::object(), .failed = "broken"});
      pool.end();
      lock.reset();
    }
    if (deed == "sleep") std::this_thread::sleep_for(std::chrono::milliseconds(std::stoi(id)));
    if (deed == "kill") ::raise(SIGKILL);
    if (deed == "exit") ::_exit(1);
    if (deed == "wait") ::pause();
  }
}

class WorkerPool : public ::testing::Test {
 protected:
  StudyPlan plan_of(const Json& study) {
    return {Study::from_json({study, "study.json"}), {}, digests_};
  }

  // The first worker does the first of the deeds, the one that replaces it the second, …
  int run(const std::vector<std::string>& deeds,
          WorkerPoolOptions options = {.restart_pause = 10ms}, int64_t workers = 1) {
    options.workers = workers;
    options.command = [&]() -> std::vector<std::string> {
      const std::string& now = started_ < deeds.size() ? deeds[started_] : "";
      ++started_;
      starts_.push_back(std::chrono::steady_clock::now());
      return {"/usr/bin/env",
              "FAKE_FOLDER=" + folder_.path().string(),
              "FAKE_DEEDS=" + now,
              fs::read_symlink("/proc/self/exe").string(),
              "--gtest_also_run_disabled_tests",
              "--gtest_brief=1",
              "--gtest_filter=FakeWorker.DISABLED_DoesWhatItIsTold"};
    };
    return run_workers(folder_, plan_, options);
  }

  // The first cells of a plan are synthetic data, a tokenizer, shards, …
  const std::string& id(size_t number) const { return plan_.cells()[number].id(); }
  fs::path deaths(const std::string& cell) const { return folder_.cell(cell) / "deaths"; }
  bool is_free(const std::string& cell) const {
    return CellLock::try_to_get(folder_.lock_file(cell)).has_value();
  }

  TempFolder temporary_;
  StudyFolder folder_{temporary_ / "out"};
  DataDigests digests_;
  StudyPlan plan_ = plan_of(small_study());
  size_t started_ = 0;
  std::vector<std::chrono::steady_clock::time_point> starts_;
};

TEST(NeighbourLimit, FallsWithEachTimeThatTheMemoryDidNotLast) {
  NeighbourLimit limit;
  EXPECT_FALSE(limit.is_set());
  EXPECT_TRUE(limit.allows(1000));
  EXPECT_TRUE(limit.lower_below(5));
  EXPECT_TRUE(limit.allows(4));
  EXPECT_FALSE(limit.allows(5));
  EXPECT_TRUE(limit.lower_below(9));  // begun before it was known
  EXPECT_FALSE(limit.allows(5));
  EXPECT_TRUE(limit.lower_below(1));
  EXPECT_TRUE(limit.allows(0));
  EXPECT_FALSE(limit.allows(1));
  EXPECT_FALSE(limit.lower_below(0));  // alone: the cell fails
}

TEST_F(WorkerPool, ChargesADeathToTheCellThatWasBegunLast) {
  const std::string failed = id(0), fatal = id(1);
  EXPECT_EQ(run({"begin:" + failed + " fail:" + failed + " begin:" + fatal + " kill"}), 0);
  EXPECT_EQ(started_, 2u);
  EXPECT_FALSE(fs::exists(deaths(failed)));
  EXPECT_EQ(read_json_file(deaths(fatal)), 1);
  EXPECT_FALSE(folder_.is_settled(fatal));
  EXPECT_TRUE(is_free(fatal));
}

TEST_F(WorkerPool, GivesUpACellAfterTwoDeaths) {
  EXPECT_EQ(run({"begin:" + id(1) + " kill", "begin:" + id(1) + " exit"}), 0);
  EXPECT_EQ(started_, 3u);
  folder_.refresh(plan_);
  ASSERT_TRUE(folder_.has_failed(id(1)));
  EXPECT_EQ(folder_.failure(id(1))->failed,
            "its worker died 2 times; the last one ended with exit code 1");
}

// Nobody can record it as failed, so that it would kill one worker after another.
TEST_F(WorkerPool, GivesUpAWorkerAfterTwoDeathsOfACellThatThePlanDoesNotHave) {
  const std::string kills = "begin:unknown kill";
  EXPECT_EQ(run({kills, kills, kills, kills}), 128 + SIGKILL);
  EXPECT_EQ(started_, 2u);
}

TEST_F(WorkerPool, KeepsTheCellLockedUntilTheDeathIsRecorded) {
  const std::string cell = id(0);
  std::atomic<bool> recorded = false;
  std::thread other([&] {
    while (!CellLock::is_held(folder_.lock_file(cell))) std::this_thread::sleep_for(1ms);
    while (!is_free(cell)) std::this_thread::yield();
    recorded = fs::exists(deaths(cell));
  });
  run({"begin:" + cell + " kill"});
  other.join();
  EXPECT_TRUE(recorded);
}

TEST_F(WorkerPool, KnowsACellThatWasAddedAfterTheStart) {
  StudyPlan later = plan_of(small_study());
  const size_t cells = later.cells().size();
  for (const Cell& cell : later.cells()) {
    CellResult result = cell.label;
    result.splits["validation"] = {.examples = 10, .metrics = {{"accuracy", 0.5}}};
    folder_.store(result);
  }
  StudyFolder(folder_.path()).refresh(later);  // chooses learning rates
  ASSERT_GT(later.cells().size(), cells);
  const Cell& added = later.cells().back();
  run({"begin:" + added.id() + " kill", "begin:" + added.id() + " kill"});
  EXPECT_EQ(folder_.failure(added.id())->failed,
            "its worker died 2 times; the last one was killed by signal 9");
  EXPECT_EQ(folder_.failure(added.id())->inputs, added.label.inputs);
}

TEST_F(WorkerPool, DoesNotReplaceAWorkerThatDiesBeforeItsFirstCell) {
  EXPECT_EQ(run({"kill", "kill"}), 128 + SIGKILL);
  EXPECT_EQ(started_, 1u);
}

TEST_F(WorkerPool, ReplacesAWorkerThatDiesBetweenCells) {
  EXPECT_EQ(run({"begin:" + id(0) + " fail:" + id(0) + " kill"}), 0);
  EXPECT_EQ(started_, 2u);
  EXPECT_FALSE(fs::exists(deaths(id(0))));
}

TEST_F(WorkerPool, ReplacesWorkersTogetherAfterTheLastDeath) {
  const std::string early = "begin:" + id(0) + " kill";
  const std::string late = "begin:" + id(1) + " sleep:2000 kill";
  EXPECT_EQ(run({early, late}, {.restart_pause = 4s}, 2), 0);
  ASSERT_EQ(starts_.size(), 4u);
  EXPECT_GT(starts_[2] - starts_[1], 6s);
  EXPECT_LT(starts_[3] - starts_[2], 1s);  // two seconds with a pause after each death
}

TEST_F(WorkerPool, StartsNoWorkerAfterTheTimeLimit) {
  const auto now = std::chrono::steady_clock::now();
  const TimeLimit over{.start = now - 9min, .minutes = 8};
  EXPECT_EQ(run({"begin:" + id(0)}, {.limit = over}), 0);
  EXPECT_EQ(started_, 0u);
  EXPECT_LT(over.left(), 0);
}

TEST_F(WorkerPool, CountsNoDeathAfterAnInterruption) {
  const auto begun = [&] { return CellLock::is_held(folder_.lock_file(id(0))); };
  run({"begin:" + id(0) + " wait"}, {.interrupted = begun});  // SIGTERM kills it
  EXPECT_EQ(started_, 1u);
  EXPECT_FALSE(fs::exists(deaths(id(0))));
  EXPECT_TRUE(is_free(id(0)));
}

TEST_F(WorkerPool, SurvivesAFailureToRecordADeath) {
  fs::create_directories(deaths(id(0)));  // where the file should be
  EXPECT_EQ(run({"begin:" + id(0) + " kill"}), 128 + SIGKILL);
  EXPECT_EQ(started_, 1u);
}

}  // namespace
}  // namespace convseq
