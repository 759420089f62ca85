#include "convseq/runtime/thread_pool.h"

#include <gtest/gtest.h>

#include <chrono>
#include <stdexcept>

namespace convseq {

TEST(ThreadPool, RunsEveryTaskOnceWithAnyNumberOfThreads) {
  for (const int64_t threads : {0, 1, 2, 5}) {
    ThreadPool pool(threads);
    EXPECT_EQ(pool.threads(), std::max<int64_t>(threads, 1));
    for (const int64_t tasks : {0, 1, 2, 3, 100}) {
      std::vector<std::atomic<int>> runs(static_cast<size_t>(tasks));
      pool.run(tasks, [&](int64_t task, int64_t thread) {
        EXPECT_LT(thread, pool.threads());
        ++runs[static_cast<size_t>(task)];
      });
      for (const auto& each : runs) EXPECT_EQ(each, 1);
    }
  }
}

TEST(ThreadPool, APhaseSeesWhatTheOneBeforeItWrote) {
  ThreadPool pool(3);
  std::vector<int64_t> values(64, 0), next(64, 0);
  for (int64_t phase = 0; phase < 500; ++phase) {
    pool.run(64, [&](int64_t task, int64_t) {
      const auto i = static_cast<size_t>(task);
      next[i] = values[i] + values[(i + 1) % 64] - values[(i + 63) % 64] + 1;
    });
    std::swap(values, next);
  }
  EXPECT_EQ(values, std::vector<int64_t>(64, 500));
}

TEST(ThreadPool, WakesUpAfterAPause) {
  ThreadPool pool(2);
  for (int i = 0; i < 3; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    std::atomic<int> runs = 0;
    pool.run(10, [&](int64_t, int64_t) { ++runs; });
    EXPECT_EQ(runs, 10);
  }
}

TEST(ThreadPool, ThrowsWhatATaskThrewAndGoesOn) {
  ThreadPool pool(2);
  EXPECT_THROW(pool.run(8,
                        [](int64_t task, int64_t) {
                          if (task == 5) throw std::runtime_error("five");
                        }),
               std::runtime_error);
  std::atomic<int> runs = 0;
  pool.run(8, [&](int64_t, int64_t) { ++runs; });
  EXPECT_EQ(runs, 8);
}

}  // namespace convseq
