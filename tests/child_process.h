#pragma once

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <functional>
#include <string>
#include <thread>

namespace convseq::testing {

// A program that runs beside the test: signals reach it at any moment. Its output goes to a file.
class ChildProcess {
 public:
  ChildProcess(const std::string& command, const std::filesystem::path& output) {
    const std::string line = "exec " + command + " >'" + output.string() + "' 2>&1";
    id_ = ::fork();
    if (id_ == 0) {
      ::execl("/bin/sh", "sh", "-c", line.c_str(), nullptr);
      ::_exit(127);
    }
  }
  ~ChildProcess() {
    if (!running()) return;
    signal(SIGKILL);
    wait();
  }
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  bool running() {
    if (!ended_) ended_ = ::waitpid(id_, &status_, WNOHANG) != 0;
    return !ended_;
  }
  void wait() {
    if (!ended_) ::waitpid(id_, &status_, 0);
    ended_ = true;
  }
  void signal(int which) {
    if (running()) ::kill(id_, which);
  }
  // False where it ended, or a minute went by, before `happened`.
  bool wait_until(const std::function<bool()>& happened) {
    const auto last = std::chrono::steady_clock::now() + std::chrono::minutes(1);
    while (running() && std::chrono::steady_clock::now() < last) {
      if (happened()) return true;
      std::this_thread::sleep_for(std::chrono::microseconds(200));
    }
    return false;
  }

  // Once it has ended: its exit code, or the number of the signal that ended it, negative.
  int exit_code() const { return WIFEXITED(status_) ? WEXITSTATUS(status_) : -WTERMSIG(status_); }

 private:
  pid_t id_ = -1;
  bool ended_ = false;
  int status_ = 0;
};

}  // namespace convseq::testing
