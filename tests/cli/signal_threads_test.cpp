#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>
#include <thread>
#include <vector>

#include "convseq/cli/signals.h"

// In a process of its own each: a signal is remembered until the process ends.
namespace convseq::cli {
namespace {

// Sends one signal to each of `count` threads while this one polls.
void poll_while_signalled(int count, void (*end)() = end_on_signals) {
  stop_at_once_on_signals("convseq");
  end();
  std::vector<std::thread> threads;
  for (int i = 0; i < count; ++i) threads.emplace_back([] { std::raise(SIGTERM); });
  while (!interrupted()) std::this_thread::yield();
  for (std::thread& thread : threads) thread.join();
}

TEST(SignalThreadsDeathTest, OneSignalOnAnotherThreadIsSeenByTheThreadThatPolls) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto run = [] {
    poll_while_signalled(1);
    std::exit(interrupted() ? 0 : 1);
  };
  EXPECT_EXIT(run(), ::testing::ExitedWithCode(0), "");
}

TEST(SignalThreadsDeathTest, OfTwoAtOnceTheSecondEndsTheProgram) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto run = [] {
    poll_while_signalled(2);
    std::exit(0);
  };
  EXPECT_EXIT(run(), ::testing::ExitedWithCode(kStoppedExitCode), "convseq: stopped");
}

TEST(SignalThreadsDeathTest, OfTwoAtOnceTheSecondDoesNothingWhereTheProgramMustEndCleanly) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto run = [] {
    poll_while_signalled(2, end_cleanly_on_signals);
    std::exit(interrupted() ? 0 : 1);
  };
  EXPECT_EXIT(run(), ::testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace convseq::cli
