// kill -9 at any moment loses nothing: the same command, given until it finishes, ends in the same
// bytes as a run that nothing disturbed. `make test-long` runs the long form: CONVSEQ_KILLS, or
// 200, kills with each of 1, 2 and 4 processes.
#include <csignal>
#include <cstdlib>

#include "child_process.h"
#include "convseq/base/random.h"
#include "mpirun.h"
#include "training_commands.h"

namespace convseq {
namespace fs = std::filesystem;
using testing::ChildProcess;
using testing::commands;
using testing::TempFolder;

namespace {

using Clock = std::chrono::steady_clock;

bool has_unfinished_write(const fs::path& out) {
  std::error_code error;  // the folder, or an entry of it, may go while it is read
  for (fs::directory_iterator each(out, error), end; !error && each != end; each.increment(error)) {
    if (each->path().filename().string().find(".convseq-tmp-") != std::string::npos) return true;
  }
  return false;
}

struct Kills {
  int hit = 0;        // a live process
  int in_writes = 0;  // that was writing: it left something unfinished behind
};

// One process, or several under mpirun that write their numbers into `folder`.
std::string line_of(int processes, const std::string& arguments, const fs::path& folder) {
  if (processes == 1) return testing::program_line(arguments);
  return testing::mpirun_line(
      fmt::format("-n {} sh -c 'echo $$ > {}/$OMPI_COMM_WORLD_RANK.pid; exec {} {}'", processes,
                  folder.string(), CONVSEQ_PROGRAM, arguments));
}

// Starts a command again and again, and kills it at random moments, until it has finished.
class Killer {
 public:
  Killer(uint64_t seed, int processes, std::chrono::duration<double> usual)
      : random_(seed), processes_(processes), usual_(usual) {}

  void drive(const std::string& arguments, const fs::path& out, Kills& kills, int most) {
    while (kills.hit < most) {
      ChildProcess process(line_of(processes_, arguments, folder_.path()), folder_ / "output");
      std::this_thread::sleep_for(usual_ * random_.uniform());
      // Every other moment is put off until something is being written, and a little further.
      if (random_.below(2) == 0) {
        process.wait_until([&] { return has_unfinished_write(out); });
        std::this_thread::sleep_for(std::chrono::microseconds(random_.below(8'000)));
      }
      kill(process);
      process.wait();
      // mpirun says 137 where one of its processes was killed.
      if (process.exit_code() != -SIGKILL && process.exit_code() != 128 + SIGKILL) {
        ASSERT_EQ(process.exit_code(), 0) << read_text_file(folder_ / "output");
        return;
      }
      ++kills.hit;
      kills.in_writes += has_unfinished_write(out) ? 1 : 0;
    }
    const auto last = testing::run_shell(line_of(processes_, arguments, folder_.path()));
    EXPECT_EQ(last.exit_code, 0) << last.output;
  }

 private:
  // Of several, one, which mpirun notices, or all at once, as when the power fails.
  void kill(ChildProcess& process) {
    const auto chosen = static_cast<int>(random_.below(2 * static_cast<uint64_t>(processes_)));
    for (int rank = 0; rank < processes_ && processes_ > 1; ++rank) {
      const fs::path file = folder_ / fmt::format("{}.pid", rank);
      if (chosen < processes_ && chosen != rank) continue;
      const int id = fs::exists(file) ? std::atoi(read_text_file(file).c_str()) : 0;
      if (id > 1 && process.running()) ::kill(id, SIGKILL);
      fs::remove(file);
    }
    if (processes_ == 1) process.signal(SIGKILL);
  }

  TempFolder folder_;
  Random random_;
  int processes_;
  std::chrono::duration<double> usual_;
};

using Arguments = std::function<std::string(const fs::path& out)>;
using Check = std::function<void(const fs::path& whole, const fs::path& killed)>;

// Runs are driven one after the other until `wanted` kills have hit a live process.
Kills kill_and_compare(uint64_t seed, int wanted, const Arguments& arguments, const Check& check,
                       int processes = 1) {
  TempFolder folder;
  const auto start = Clock::now();
  const auto whole = testing::run_shell(line_of(processes, arguments(folder / "whole"), "/tmp"));
  EXPECT_EQ(whole.exit_code, 0) << whole.output;
  Killer killer(seed, processes, Clock::now() - start);
  Kills kills;
  for (int run = 0; kills.hit < wanted && !::testing::Test::HasFailure(); ++run) {
    const fs::path out = folder / fmt::format("killed-{}", run);
    killer.drive(arguments(out), out, kills, wanted);
    check(folder / "whole", out);
    EXPECT_FALSE(has_unfinished_write(out)) << "what a kill left behind stays for ever";
  }
  return kills;
}

void expect_same_file(const fs::path& whole, const fs::path& killed, const std::string& name) {
  EXPECT_TRUE(read_text_file(whole / name) == read_text_file(killed / name)) << killed / name;
}

void expect_same_metrics(const fs::path& whole, const fs::path& killed) {
  EXPECT_EQ(testing::metrics_without_pace(killed), testing::metrics_without_pace(whole)) << killed;
}

void report(const std::string& what, const Kills& kills) {
  fmt::print("{}: {} kills hit a live process, {} of them a write\n", what, kills.hit,
             kills.in_writes);
  ::testing::Test::RecordProperty(what + "_kills", kills.hit);
  ::testing::Test::RecordProperty(what + "_kills_in_writes", kills.in_writes);
}

}  // namespace

TEST(Kill, PretrainingEndsInTheSameBytes) {
  struct Case {
    const char* save_every;
    const char* validation;  // whose best model is a folder of its own
    int kills;
  };
  const std::vector<Case> cases = {{"1", "", 12}, {"2", "", 10}, {"3", "2", 10}};
  Kills all;
  for (size_t i = 0; i < cases.size(); ++i) {
    const Case& each = cases[i];
    const bool validates = *each.validation != '\0';
    // A model whose checkpoint takes longer than a step.
    const auto arguments = [&](const fs::path& out) {
      return commands().pretrain(out.string(),
                                 {{"--set", "d_model=128 d_ff=256 heads=2 d_kv=16 dropout=0.1"},
                                  {"--steps", "8"},
                                  {"--save-every", each.save_every},
                                  {"--validation", validates ? commands().path("corpus") : ""},
                                  {"--validate-every", each.validation}});
    };
    const Kills kills = kill_and_compare(
        40 + i, each.kills, arguments, [&](const fs::path& whole, const fs::path& killed) {
          expect_same_file(whole, killed, "model.safetensors");
          if (validates) expect_same_file(whole, killed, "best/model.safetensors");
          expect_same_metrics(whole, killed);
        });
    all.hit += kills.hit;
    all.in_writes += kills.in_writes;
  }
  report("pretrain", all);
  EXPECT_GE(all.hit, 30);
  EXPECT_GE(all.in_writes, 8);
  EXPECT_LE(all.in_writes, all.hit - 4);
}

TEST(Kill, FinetuningEndsInTheSameModelAndAnswers) {
  const auto arguments = [](const fs::path& out) {
    return commands().finetune(out.string(),
                               {{"--set", "d_model=128 d_ff=256 heads=2 d_kv=16 dropout=0.1"},
                                {"--save-every", "3"},
                                {"--validate-every", "2"}});
  };
  const Kills kills =
      kill_and_compare(50, 8, arguments, [](const fs::path& whole, const fs::path& killed) {
        for (const char* name : {"model.safetensors", "best/model.safetensors",
                                 "predictions-validation.jsonl", "predictions-test.jsonl"}) {
          expect_same_file(whole, killed, name);
        }
        EXPECT_EQ(testing::without_pace(read_json_file(killed / "evaluation.json")),
                  testing::without_pace(read_json_file(whole / "evaluation.json")));
        expect_same_metrics(whole, killed);
      });
  report("finetune", kills);
  EXPECT_EQ(kills.hit, 8);
}

TEST(LongKill, HitsOneTwoAndFourProcesses) {
  const char* given = std::getenv("CONVSEQ_KILLS");
  const int wanted = given != nullptr ? std::atoi(given) : 200;
  for (const int processes : {1, 2, 4}) {
    if (processes > 1 && std::string(CONVSEQ_MPIRUN).empty()) continue;
    const auto arguments = [](const fs::path& out) {
      return commands().pretrain(out.string(),
                                 {{"--set", "d_model=128 d_ff=256 heads=2 d_kv=16 dropout=0.1"},
                                  {"--steps", "8"},
                                  {"--save-every", "2"},
                                  {"--validation", commands().path("corpus")},
                                  {"--validate-every", "3"}});
    };
    const Kills kills = kill_and_compare(
        60 + static_cast<uint64_t>(processes), wanted, arguments,
        [](const fs::path& whole, const fs::path& killed) {
          expect_same_file(whole, killed, "model.safetensors");
          expect_same_file(whole, killed, "best/model.safetensors");
          expect_same_metrics(whole, killed);
        },
        processes);
    report(fmt::format("{}_processes", processes), kills);
    EXPECT_EQ(kills.hit, wanted);
  }
}

}  // namespace convseq
