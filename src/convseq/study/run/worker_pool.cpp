#include "convseq/study/run/worker_pool.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <set>
#include <thread>

#include "convseq/base/file/system_error.h"
#include "convseq/base/log.h"

namespace convseq {
namespace fs = std::filesystem;
namespace {

constexpr int kMostDeaths = 2;

// In a process group of its own: a Ctrl-C reaches it once, through this process.
pid_t start(const std::vector<std::string>& command) {
  std::vector<char*> arguments;
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  const pid_t parent = ::getpid();
  const pid_t child = ::fork();
  if (child != 0) {
    if (child < 0) fail_to("start", command.front());
    return child;
  }
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);  // it ends cleanly when this process is killed
  if (::getppid() != parent) ::_exit(1);
  ::execv(arguments.front(), arguments.data());
  ::_exit(127);
}

// The dead worker held the lock of one cell. A cell that kills its worker again and again is given
// up.
void record_death(StudyFolder& folder, const StudyPlan& plan, pid_t worker, int signal) {
  for (const Cell& cell : plan.cells()) {
    const fs::path deaths = folder.cell(cell.id()) / "deaths";
    if (folder.has_files(cell.id()) ||
        CellLock::last_holder(folder.lock_file(cell.id())) != worker) {
      continue;
    }
    const auto count = (fs::exists(deaths) ? std::stoi(read_text_file(deaths)) : 0) + 1;
    write_json_file(deaths, count);
    log::warning("{}: its worker was killed by signal {}", cell.name(), signal);
    if (count < kMostDeaths) return;
    CellResult failure = cell.label;
    failure.failed = fmt::format("its worker was killed {} times, by signal {}", count, signal);
    folder.store(failure);
    return;
  }
}

}  // namespace

int run_workers(StudyFolder& folder, const StudyPlan& plan, const WorkerPoolOptions& options) {
  std::set<pid_t> workers;
  for (int64_t i = 0; i < options.workers; ++i) workers.insert(start(options.command));
  int worst = 0;
  bool told = false;
  auto last = std::chrono::steady_clock::now();
  while (!workers.empty()) {
    if (options.interrupted() && !told) {
      for (const pid_t worker : workers) ::kill(worker, SIGTERM);
      told = true;
    }
    int status = 0;
    const pid_t ended = ::waitpid(-1, &status, WNOHANG);
    if (ended <= 0) {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      if (std::chrono::steady_clock::now() - last > std::chrono::minutes(1)) {
        options.each_minute();
        last = std::chrono::steady_clock::now();
      }
      continue;
    }
    if (workers.erase(ended) == 0) continue;
    if (WIFEXITED(status)) {
      worst = std::max(worst, WEXITSTATUS(status));
      continue;
    }
    record_death(folder, plan, ended, WTERMSIG(status));
    if (!told) workers.insert(start(options.command));
  }
  return worst;
}

}  // namespace convseq
