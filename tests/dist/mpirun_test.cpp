// Starts tests/dist/processes.cpp with mpirun.
#include "mpirun.h"

#include <gtest/gtest.h>

#include <chrono>
#include <set>
#include <sstream>

#include "shell.h"

namespace convseq {
using testing::Mpirun;
using testing::Outcome;
using testing::run_shell;

namespace {

Outcome mpirun(int processes, const std::string& arguments) {
  return run_shell("timeout 300 " + testing::mpirun_line("-n " + std::to_string(processes) +
                                                         " '" CONVSEQ_PROCESSES "' " + arguments));
}

}  // namespace

TEST_F(Mpirun, OneTwoAndFourProcessesAgree) {
  for (const int processes : {1, 2, 4}) {
    const Outcome outcome = mpirun(processes, "--gtest_brief=1");
    EXPECT_EQ(outcome.exit_code, 0) << processes << " processes:\n" << outcome.output;
  }
}

TEST_F(Mpirun, ARunRepeatsBitForBit) {
  for (const int processes : {2, 4}) {
    std::set<std::string> digests;
    for (int run = 0; run < 2; ++run) {
      const Outcome outcome = mpirun(processes, "digest");
      ASSERT_EQ(outcome.exit_code, 0) << outcome.output;
      std::istringstream lines(outcome.output);
      for (std::string line; std::getline(lines, line);) digests.insert(line);
    }
    ASSERT_EQ(digests.size(), 1u) << *digests.begin() << " and others";
    EXPECT_EQ(digests.begin()->substr(0, 2), std::to_string(processes) + " ");
  }
}

TEST_F(Mpirun, OneLostProcessEndsAllWithin30SecondsAndIsNamed) {
  struct Case {
    std::string how, message;
  };
  const std::vector<Case> cases = {
      {"killed", "signal 9 (Killed)"},
      {"throws", "process 1 of 2: the corpus is gone; all processes end"},
  };
  for (const Case& each : cases) {
    const auto start = std::chrono::steady_clock::now();
    const Outcome outcome = mpirun(2, each.how);
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(30)) << each.how;
    EXPECT_NE(outcome.exit_code, 0) << each.how;
    EXPECT_NE(outcome.output.find(each.message), std::string::npos) << outcome.output;
  }
}

}  // namespace convseq
