#pragma once

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <optional>
#include <string>

namespace convseq {

using Clock = std::function<std::chrono::steady_clock::time_point()>;

struct ProgressOptions {
  std::string label;
  int64_t total = 0;                  // 0: unknown
  std::string unit = "";              // "steps", "docs"
  std::optional<int64_t> first = {};  // what is done at the start, from where speed counts;
                                      // default: just before the first update, as in a resumed run
  std::FILE* out = stderr;
  std::chrono::milliseconds bar_interval{100};     // between redraws on a terminal
  std::chrono::milliseconds line_interval{10000};  // between lines where the output is no terminal
  Clock clock = std::chrono::steady_clock::now;
};

// "pretrain  41% [########            ] 410/1000 steps  12.3/s  0:48 left  loss 3.12": redrawn in
// place on a terminal, a plain line now and then in a log.
class Progress {
 public:
  explicit Progress(ProgressOptions options);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void update(int64_t done, const std::string& note = "");
  void finish();  // draws the last state, if there is one; called by the destructor otherwise

 private:
  using Time = std::chrono::steady_clock::time_point;
  std::string describe(Time now) const;
  void draw(Time now);

  ProgressOptions options_;
  bool terminal_;
  Time start_;
  Time last_draw_;
  bool updated_ = false;
  int64_t done_ = 0;
  std::string note_;
  bool finished_ = false;
};

std::string format_duration(std::chrono::seconds duration);  // 0:07, 12:30, 3:04:05

}  // namespace convseq
