#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "convseq/base/progress.h"
#include "convseq/cli/signals.h"

namespace convseq::cli {

// The progress of passes over the examples of a split, which a signal ends.
class ExampleProgress {
 public:
  // `stopped` is the message where a signal came.
  ExampleProgress(int64_t examples, bool shown, std::string stopped)
      : examples_(examples), shown_(shown), stopped_(std::move(stopped)) {}

  void start(const char* pass) {
    done_ = 0;
    if (!shown_) return;
    bar_.emplace(
        ProgressOptions{.label = pass, .total = examples_, .unit = "examples", .first = 0});
  }

  void add(size_t rows) {  // after each batch
    throw_if_interrupted("{}", stopped_);
    done_ += static_cast<int64_t>(rows);
    if (bar_) bar_->update(done_);
  }

  void finish() { bar_.reset(); }

 private:
  int64_t examples_;
  bool shown_;
  std::string stopped_;
  std::optional<Progress> bar_;
  int64_t done_ = 0;
};

}  // namespace convseq::cli
