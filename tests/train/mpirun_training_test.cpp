// `convseq pretrain` and `finetune` give the same results with several processes as with one.
#include <algorithm>
#include <cmath>
#include <csignal>
#include <sstream>

#include "child_process.h"
#include "mpirun.h"
#include "training_commands.h"

namespace convseq {
namespace fs = std::filesystem;
using testing::ChildProcess;
using testing::CommandFlags;
using testing::commands;
using testing::Mpirun;
using testing::Outcome;
using testing::TempFolder;

namespace {

constexpr double kRounding = 1e-9;

std::string by(int processes, const std::string& arguments) {
  return testing::mpirun_line("-n " + std::to_string(processes) + " " CONVSEQ_PROGRAM " " +
                              arguments);
}

void expect_run(int processes, const std::string& arguments) {
  const Outcome outcome = testing::run_shell("timeout 120 " + by(processes, arguments));
  EXPECT_EQ(outcome.exit_code, 0) << processes << " processes: " << outcome.output;
}

// No dropout, whose random numbers differ between processes. The learning rate does not depend on
// the number of steps, so that the first 17 steps of a run of 50 equal a run of 17.
std::string pretraining(const fs::path& out, const CommandFlags& changed) {
  CommandFlags flags = {{"--set", "d_model=32 d_ff=64 heads=2 d_kv=16 dropout=0"},
                        {"--batch", "8"},
                        {"--schedule", "constant"},
                        {"--steps", "50"},
                        {"--save-every", "1000"}};
  for (const auto& [flag, value] : changed) flags[flag] = value;
  return commands().pretrain(out.string(), flags);
}

// The loss of every step, once and in order.
std::vector<double> losses_of(const fs::path& out) {
  std::vector<double> losses;
  for (const Json& line : testing::read_json_lines(out / "metrics.jsonl")) {
    if (!line.contains("loss")) continue;
    losses.push_back(line["loss"]);
    EXPECT_EQ(line["step"], losses.size()) << out;
  }
  return losses;
}

double largest_difference(const fs::path& out, const fs::path& other) {
  const auto losses = losses_of(out), others = losses_of(other);
  EXPECT_EQ(losses.size(), others.size());
  double largest = 0;
  for (size_t i = 0; i < std::min(losses.size(), others.size()); ++i) {
    largest = std::max(largest, std::abs(losses[i] - others[i]));
  }
  return largest;
}

// Runs two processes, each in its own working folder with the same relative output path, as on two
// machines without a shared disk.
Outcome run_apart(const fs::path& folder, const std::string& arguments) {
  std::string line;
  for (const char* each : {"first", "second"}) {
    fs::create_directories(folder / each);
    line += fmt::format("{} -n 1 --wdir {} {} {}", line.empty() ? "" : " :",
                        (folder / each).string(), CONVSEQ_PROGRAM, arguments);
  }
  return testing::run_shell("timeout 120 " + testing::mpirun_line(line));
}

std::string part(const char* steps) {
  return pretraining("out", {{"--precision", "fp64"}, {"--steps", steps}, {"--save-every", "5"}});
}

class MpirunTraining : public Mpirun {
 protected:
  fs::path out(const std::string& name) const { return folder_ / name; }

  void tell(const std::string& what, double difference) {
    fmt::print("{}: losses differ by {:.3g} at most\n", what, difference);
    std::string key = what;
    std::replace(key.begin(), key.end(), ' ', '_');
    RecordProperty(key, fmt::format("{:.3g}", difference));
  }

  TempFolder folder_;
};

}  // namespace

TEST_F(MpirunTraining, LossesOfOneTwoAndFourProcessesAreTheSame) {
  for (const char* precision : {"fp64", "fp32"}) {
    const auto name = [&](int processes) {
      return out(fmt::format("{}-{}", precision, processes));
    };
    for (const int processes : {1, 2, 4})
      expect_run(processes, pretraining(name(processes), {{"--precision", precision}}));
    ASSERT_EQ(losses_of(name(1)).size(), 50u);
    for (const int processes : {2, 4}) {
      const double difference = largest_difference(name(processes), name(1));
      tell(fmt::format("{} {} processes", precision, processes), difference);
      if (precision == std::string("fp64")) {
        EXPECT_LE(difference, kRounding);
      }
      EXPECT_LE(difference, 0.1) << "fp32 is reported; it must not be another run";
    }
  }
}

TEST_F(MpirunTraining, GoesOnWithAnotherNumberOfProcesses) {
  const CommandFlags fp64 = {{"--precision", "fp64"}};
  expect_run(1, pretraining(out("whole"), fp64));
  const std::vector<std::pair<int, const char*>> parts = {{2, "17"}, {1, "34"}, {4, "50"}};
  for (const auto& [processes, steps] : parts) {
    CommandFlags flags = fp64;
    flags["--steps"] = steps;
    expect_run(processes, pretraining(out("parts"), flags));
  }
  const double difference = largest_difference(out("parts"), out("whole"));
  tell("fp64 resumed by 2 then 1 then 4", difference);
  EXPECT_LE(difference, kRounding);
}

TEST_F(MpirunTraining, ThreeProcessesRefuseABatchOfEightBeforeAnyWork) {
  for (const std::string& arguments :
       {pretraining(out("out"), {}), commands().finetune(out("out").string())}) {
    const Outcome outcome = testing::run_shell("timeout 60 " + by(3, arguments));
    EXPECT_EQ(outcome.exit_code, 2);
    EXPECT_NE(outcome.output.find(
                  " of 3: a batch of 8 examples cannot be shared evenly by 3 processes; "),
              std::string::npos)
        << outcome.output;
    EXPECT_FALSE(fs::exists(out("out")));
  }
}

TEST_F(MpirunTraining, OnlyTheFirstProcessWrites) {
  const Outcome outcome = run_apart(folder_.path(), pretraining("out", {{"--steps", "6"}}));
  EXPECT_EQ(outcome.exit_code, 0) << outcome.output;
  EXPECT_EQ(losses_of(out("first") / "out").size(), 6u);
  EXPECT_TRUE(fs::exists(out("first") / "out" / "model.safetensors"));
  EXPECT_TRUE(fs::is_empty(out("second")));
}

TEST_F(MpirunTraining, ResumesWithAFolderPerProcessAsUninterrupted) {
  expect_run(1, pretraining(out("whole"), {{"--precision", "fp64"}, {"--steps", "20"}}));
  const fs::path first = out("first") / "out", second = out("second") / "out";
  ASSERT_EQ(run_apart(folder_.path(), part("10")).exit_code, 0);
  struct Case {
    const char* steps;
    std::function<void()> before;
  };
  const std::vector<Case> table = {
      // The second process has no checkpoint, then an older one, then a damaged one.
      {"12", [] {}},
      {"14",
       [&] {
         fs::create_directories(second);
         fs::copy(first / "checkpoint-00000010", second / "checkpoint-00000010",
                  fs::copy_options::recursive);
       }},
      {"20", [&] { fs::resize_file(second / "checkpoint-00000010" / "model.safetensors", 100); }},
  };
  for (const Case& each : table) {
    each.before();
    const Outcome outcome = run_apart(folder_.path(), part(each.steps));
    EXPECT_EQ(outcome.exit_code, 0) << outcome.output;
  }
  const double difference = largest_difference(first, out("whole"));
  tell("fp64 resumed with a folder per process", difference);
  EXPECT_LE(difference, kRounding);
}

TEST_F(MpirunTraining, RefusesToResumeWhereOnlyAnotherProcessHasTheNewestCheckpoint) {
  ASSERT_EQ(run_apart(folder_.path(), part("10")).exit_code, 0);
  fs::rename(out("first") / "out", out("second") / "out");  // swaps the machines
  const Outcome refused = run_apart(folder_.path(), part("20"));
  EXPECT_EQ(refused.exit_code, 2) << refused.output;
  EXPECT_NE(refused.output.find("out: process 1 has a checkpoint of step 10 there, the first "
                                "process none; start the machines in the same order as before"),
            std::string::npos)
      << refused.output;
  EXPECT_FALSE(fs::exists(out("first") / "out"));
  EXPECT_TRUE(fs::exists(out("second") / "out" / "checkpoint-00000010"));
}

TEST_F(MpirunTraining, ResumesInASharedFolderBehindADamagedCheckpoint) {
  const auto training = [&](const char* name, const char* steps) {
    return pretraining(out(name),
                       {{"--precision", "fp64"}, {"--steps", steps}, {"--save-every", "4"}});
  };
  expect_run(1, training("whole", "16"));
  expect_run(2, training("shared", "10"));
  fs::resize_file(out("shared") / "checkpoint-00000010" / "optimizer.safetensors", 100);
  expect_run(4, training("shared", "16"));
  const double difference = largest_difference(out("shared"), out("whole"));
  tell("fp64 resumed in a shared folder", difference);
  EXPECT_LE(difference, kRounding);
}

TEST_F(MpirunTraining, FinetuningWithAFolderPerProcessKeepsTheFirstOnesBest) {
  const auto tuning = [&](const char* steps) {
    return commands().finetune("tuned", {{"--precision", "fp64"}, {"--steps", steps}});
  };
  for (const char* steps : {"6", "12"}) {
    const Outcome outcome = run_apart(folder_.path(), tuning(steps));
    EXPECT_EQ(outcome.exit_code, 0) << outcome.output;
  }
  EXPECT_TRUE(fs::exists(out("first") / "tuned" / "evaluation.json"));
  EXPECT_TRUE(fs::is_empty(out("second")));
}

// The signal goes to one process, as from a cluster scheduler, or to mpirun, which forwards it to
// all processes and kills those that run for longer than odls_base_sigkill_timeout (default: 1 s).
TEST_F(MpirunTraining, ASignalToAnyOfThemEndsAllWithACheckpoint) {
  const auto training = [](const fs::path& run, size_t steps) {
    return pretraining(run, {{"--precision", "fp64"}, {"--steps", std::to_string(steps)}});
  };
  for (const bool to_mpirun : {false, true}) {
    const fs::path run = out(to_mpirun ? "all" : "one"), second = out("second");
    ChildProcess process(
        testing::mpirun_line(
            fmt::format("-n 2 sh -c 'test $OMPI_COMM_WORLD_RANK = 0 || echo $$ > {}; exec {} {}'",
                        second.string(), CONVSEQ_PROGRAM, training(run, 100'000))),
        out("output"));
    ASSERT_TRUE(process.wait_until([&] { return fs::exists(run / "metrics.jsonl"); }))
        << read_text_file(out("output"));
    if (to_mpirun) {
      process.signal(SIGTERM);
    } else {
      ::kill(std::stoi(read_text_file(second)), SIGTERM);
    }
    process.wait();
    const std::string output = read_text_file(out("output"));
    EXPECT_NE(output.find("run the same command again to resume"), output.npos) << output;
    // mpirun has its own exit code if it received the signal itself.
    if (!to_mpirun) {
      EXPECT_EQ(process.exit_code(), 130) << output;
    }
    const size_t done = losses_of(run).size();
    EXPECT_TRUE(fs::exists(run / fmt::format("checkpoint-{:08}", done) / "trainer_state.json"));
    const fs::path whole = out(run.filename().string() + "-whole");
    for (const fs::path& each : {run, whole}) expect_run(1, training(each, done + 3));
    EXPECT_LE(largest_difference(run, whole), kRounding);
  }
}

// Probabilities, and what is computed from them, differ as the losses do: by rounding.
Json rounded(Json json) {
  if (json.is_structured()) {
    for (Json& each : json) each = rounded(std::move(each));
  } else if (json.is_number_float()) {
    json = std::round(json.get<double>() * 1e9) / 1e9;
  }
  return json;
}

std::vector<Json> predictions_in(const std::filesystem::path& folder) {
  std::istringstream lines(read_text_file(folder / "predictions-test.jsonl"));
  std::vector<Json> predictions;
  for (std::string line; std::getline(lines, line);) {
    predictions.push_back(rounded(Json::parse(line)));
  }
  return predictions;
}

TEST_F(MpirunTraining, FinetuningByTwoProcessesIsTheSame) {
  for (const char* form : {"text", "pooled"}) {
    const auto name = [&](int processes) { return out(fmt::format("{}-{}", form, processes)); };
    for (const int processes : {1, 2}) {
      expect_run(processes,
                 commands().finetune(name(processes).string(),
                                     {{"--set", "d_model=32 d_ff=64 heads=2 d_kv=16 dropout=0"},
                                      {"--precision", "fp64"},
                                      {"--steps", "20"},
                                      {"--answer", form}}));
    }
    ASSERT_EQ(losses_of(name(1)).size(), 20u);
    EXPECT_LE(largest_difference(name(2), name(1)), kRounding);
    EXPECT_EQ(rounded(read_json_file(name(2) / "evaluation.json")["evaluation"]),
              rounded(read_json_file(name(1) / "evaluation.json")["evaluation"]));
    EXPECT_EQ(predictions_in(name(2)), predictions_in(name(1)));
  }
}

}  // namespace convseq
