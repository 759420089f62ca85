#include "convseq/dist/launch.h"

#include <gtest/gtest.h>

#include <map>

#include "convseq/base/error.h"
#include "temp_folder.h"

namespace convseq {
using testing::message_of;

namespace {

Launch launch_of(const std::map<std::string, std::string>& variables) {
  return find_launch([&](const char* name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    return found != variables.end() ? std::optional(found->second) : std::nullopt;
  });
}

}  // namespace

TEST(Launch, KnowsTheVariablesOfEveryLauncher) {
  struct Case {
    Launcher launcher;
    std::map<std::string, std::string> variables;
  };
  const std::vector<Case> cases = {
      {Launcher::Mpirun,
       {{"OMPI_COMM_WORLD_RANK", "5"},
        {"OMPI_COMM_WORLD_SIZE", "8"},
        {"OMPI_COMM_WORLD_LOCAL_RANK", "1"}}},
      {Launcher::Srun,
       {{"SLURM_PROCID", "5"}, {"SLURM_STEP_NUM_TASKS", "8"}, {"SLURM_LOCALID", "1"}}},
      {Launcher::Torchrun, {{"RANK", "5"}, {"WORLD_SIZE", "8"}, {"LOCAL_RANK", "1"}}},
      {Launcher::Torchrun,  // started by srun, once a machine
       {{"SLURM_PROCID", "0"},
        {"SLURM_STEP_NUM_TASKS", "2"},
        {"RANK", "5"},
        {"WORLD_SIZE", "8"},
        {"LOCAL_RANK", "1"}}},
  };
  for (const Case& each : cases) {
    const Launch launch = launch_of(each.variables);
    EXPECT_EQ(launch.launcher, each.launcher);
    EXPECT_EQ(launch.rank, 5);
    EXPECT_EQ(launch.size, 8);
    EXPECT_EQ(launch.local_rank, 1);
  }
}

TEST(Launch, IsOneProcessByHandOtherwise) {
  for (const Launch& launch : {launch_of({}), launch_of({{"SLURM_PROCID", "0"}})}) {
    EXPECT_EQ(launch.launcher, Launcher::None);
    EXPECT_EQ(launch.rank, 0);
    EXPECT_EQ(launch.size, 1);
  }
}

TEST(Launch, RefusesNumbersThatAreNone) {
  EXPECT_EQ(message_of<Error>([] {
              launch_of({{"RANK", "x"}, {"WORLD_SIZE", "2"}});
            }),
            "RANK is \"x\"; allowed: a whole number");
  EXPECT_EQ(message_of<Error>([] {
              launch_of({{"RANK", "2"}, {"WORLD_SIZE", "2"}});
            }),
            "RANK is 2 and WORLD_SIZE is 2: the rank must be below the size");
}

}  // namespace convseq
