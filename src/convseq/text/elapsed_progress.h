#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <string>
#include <thread>

namespace convseq {

struct ElapsedProgressOptions {
  std::string label;
  std::FILE* out = stderr;
  std::chrono::milliseconds redraw_interval{1000};  // on a terminal
  std::chrono::milliseconds line_interval{10000};   // between lines where the output is no terminal
};

// "training a tokenizer …  3:20", for work that says nothing of how far it is: redrawn in place on
// a terminal, a line now and then in a log, by a thread of its own, until it is destroyed.
class ElapsedProgress {
 public:
  explicit ElapsedProgress(ElapsedProgressOptions options);
  ~ElapsedProgress();
  ElapsedProgress(const ElapsedProgress&) = delete;
  ElapsedProgress& operator=(const ElapsedProgress&) = delete;

 private:
  void show_now_and_then();
  void draw() const;

  const ElapsedProgressOptions options_;
  const bool terminal_;
  const std::chrono::steady_clock::time_point start_;
  std::mutex mutex_;
  std::condition_variable ended_;
  bool end_ = false;
  std::thread thread_;  // last: it uses the others
};

}  // namespace convseq
