#include "convseq/study/run/worker_pool.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <fstream>
#include <map>
#include <thread>

#include "convseq/base/file/system_error.h"
#include "convseq/base/log.h"
#include "convseq/study/run/worker_link.h"

namespace convseq {
namespace fs = std::filesystem;
namespace {

constexpr int kMostDeaths = 2;
constexpr auto kPollPause = std::chrono::milliseconds(50);
// A machine that is taken away kills all processes of a run, the workers maybe first. Only a pool
// that is alive a moment later has seen the death of one worker.
constexpr auto kMoment = std::chrono::milliseconds(500);

// In a process group of its own: a Ctrl-C reaches it once, through this process.
pid_t start(const std::vector<std::string>& command, const WorkerLink& link) {
  std::vector<char*> arguments;
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  const pid_t parent = ::getpid();
  // Until exec() the child has this process's handler, which would forget the signal.
  sigset_t signals, before;
  ::sigemptyset(&signals);
  ::sigaddset(&signals, SIGTERM);
  ::pthread_sigmask(SIG_BLOCK, &signals, &before);
  const pid_t child = ::fork();
  if (child != 0) {
    const int why = errno;
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    if (child < 0) fail_to("start", command.front(), why);
    return child;
  }
  ::signal(SIGTERM, SIG_DFL);
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);  // it ends cleanly when this process is killed
  if (::getppid() != parent) ::_exit(1);
  link.become_standard_input();
  ::execv(arguments.front(), arguments.data());
  ::_exit(127);
}

// How a worker ended, from the status of waitpid().
struct WorkerEnd {
  int status = 0;

  bool clean() const { return WIFEXITED(status) && WEXITSTATUS(status) == 0; }
  bool killed() const { return WIFSIGNALED(status); }
  int code() const { return killed() ? 128 + WTERMSIG(status) : WEXITSTATUS(status); }
  std::string describe() const {
    return killed() ? fmt::format("was killed by signal {}", WTERMSIG(status))
                    : fmt::format("ended with exit code {}", WEXITSTATUS(status));
  }
};

// Whether a new worker may take this one's place. The caller holds the lock of the cell, so that no
// worker takes it meanwhile.
bool record_death(StudyFolder& folder, StudyPlan& plan, const std::string& id, WorkerEnd end) {
  if (folder.is_settled(id)) return true;              // it was stored before the worker died
  if (plan.find(id) == nullptr) folder.refresh(plan);  // of a seed that was added since
  const Cell* cell = plan.find(id);
  log::warning("{}: its worker {}", cell == nullptr ? id : cell->name(), end.describe());
  const fs::path deaths = folder.cell(id) / "deaths";
  int count = 0;
  std::ifstream(deaths) >> count;
  write_json_file(deaths, ++count);
  if (count < kMostDeaths) return true;
  // It came with results that were merged meanwhile. Not recorded as failed, it would kill more.
  if (cell == nullptr) return false;
  CellResult failure = cell->label;
  failure.failed = fmt::format("its worker died {} times; the last one {}", count, end.describe());
  folder.store(failure);
  return true;
}

class WorkerPool {
 public:
  WorkerPool(StudyFolder& folder, StudyPlan& plan, const WorkerPoolOptions& options)
      : folder_(folder), plan_(plan), options_(options) {}

  int go() {
    ::signal(SIGCHLD, SIG_DFL);  // ignored by whoever started this, waitpid() would see no end
    for (int64_t i = 0; i < options_.workers; ++i) start_worker();
    auto last = std::chrono::steady_clock::now();
    while (!workers_.empty() || missing_ > 0) {
      stop_if_interrupted();
      replace_workers();
      for (auto& [process, link] : workers_) link.receive();
      WorkerEnd end;
      const pid_t ended = ::waitpid(-1, &end.status, WNOHANG);
      if (ended > 0) {
        on_end(ended, end);
        continue;
      }
      std::this_thread::sleep_for(kPollPause);
      if (std::chrono::steady_clock::now() - last > std::chrono::minutes(1)) {
        attempt(options_.each_minute);
        last = std::chrono::steady_clock::now();
      }
    }
    return worst_;
  }

 private:
  // What fails here, say on a full disk, must not end the workers with this process.
  static bool attempt(const std::function<void()>& action) {
    try {
      action();
      return true;
    } catch (const std::exception& error) {
      log::warning("{}", error.what());
      return false;
    }
  }

  void start_worker() {
    if (!options_.limit.may_begin() || options_.interrupted()) return;
    WorkerLink link;
    const pid_t process = start(options_.command(), link);
    link.close_other_end();
    workers_.emplace(process, std::move(link));
  }

  void replace_workers() {
    if (missing_ == 0) return;
    if (!options_.interrupted() && std::chrono::steady_clock::now() < restart_) return;
    for (; missing_ > 0; --missing_) {
      if (!attempt([&] { start_worker(); })) worst_ = std::max(worst_, 1);
    }
  }

  void stop_if_interrupted() {
    if (told_ || !options_.interrupted()) return;
    for (const auto& [process, link] : workers_) ::kill(process, SIGTERM);
    told_ = true;
  }

  void on_end(pid_t process, WorkerEnd end) {
    auto worker = workers_.extract(process);
    if (worker.empty() || end.clean()) return;
    WorkerLink& link = worker.mapped();  // with the lock of its cell
    link.receive();
    if (link.cell()) std::this_thread::sleep_for(kMoment);
    if (options_.interrupted()) return;
    bool replace = end.killed() && link.has_begun();
    if (link.cell()) {
      replace = false;
      attempt([&] { replace = record_death(folder_, plan_, *link.cell(), end); });
    } else {
      log::warning("a worker {}", end.describe());
    }
    if (!replace) {
      worst_ = std::max(worst_, end.code());
      return;
    }
    ++missing_;
    restart_ = std::chrono::steady_clock::now() + options_.restart_pause;
  }

  StudyFolder& folder_;
  StudyPlan& plan_;
  const WorkerPoolOptions& options_;
  std::map<pid_t, WorkerLink> workers_;
  int64_t missing_ = 0;                            // workers that died and are to be replaced
  std::chrono::steady_clock::time_point restart_;  // not before
  int worst_ = 0;
  bool told_ = false;
};

}  // namespace

int run_workers(StudyFolder& folder, StudyPlan& plan, const WorkerPoolOptions& options) {
  return WorkerPool(folder, plan, options).go();
}

}  // namespace convseq
