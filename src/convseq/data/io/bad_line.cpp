#include "convseq/data/io/bad_line.h"

#include "convseq/base/error.h"
#include "convseq/base/log.h"

namespace convseq {
namespace {
constexpr int64_t kLoggedOneByOne = 5;
}

void BadLines::report(const Error& problem) {
  if (policy_ == OnBadLine::Stop) throw problem;
  const std::lock_guard lock(mutex_);
  if (++skipped_ == 1) first_ = problem.what();
  if (handler_) return handler_(problem);
  if (skipped_ <= kLoggedOneByOne) log::warning("skipped: {}", problem.what());
  if (skipped_ == kLoggedOneByOne) log::warning("further bad lines are counted, not shown");
}

int64_t BadLines::skipped() const {
  const std::lock_guard lock(mutex_);
  return skipped_;
}

std::string BadLines::summary() const {
  const std::lock_guard lock(mutex_);
  if (skipped_ == 0) return "";
  return fmt::format("{} bad line{} skipped, the first: {}", skipped_, skipped_ == 1 ? "" : "s",
                     first_);
}

}  // namespace convseq
