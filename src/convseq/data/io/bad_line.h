#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <string>

#include "convseq/base/enum_names.h"
#include "convseq/base/error.h"

namespace convseq {

enum class OnBadLine { Stop, Skip };
template <>
inline constexpr auto kEnumNames<OnBadLine> =
    std::to_array<EnumName<OnBadLine>>({{OnBadLine::Stop, "stop"}, {OnBadLine::Skip, "skip"}});

// Collects the lines that readers cannot use. Several threads may share one object.
class BadLines {
 public:
  using Handler = std::function<void(const Error& problem)>;

  explicit BadLines(OnBadLine policy = OnBadLine::Stop) : policy_(policy) {}
  // Bad lines are skipped, and given to `handler` instead of the log.
  explicit BadLines(Handler handler) : policy_(OnBadLine::Skip), handler_(std::move(handler)) {}

  // `problem` says where it is, "file:line". Stop: throws it. Skip: counts it; the first few are
  // logged one by one.
  void report(const Error& problem);

  bool stops() const { return policy_ == OnBadLine::Stop; }
  int64_t skipped() const;
  std::string summary() const;  // "3 bad lines skipped, the first: a.txt:7: …"; empty when none was

 private:
  const OnBadLine policy_;
  const Handler handler_;
  mutable std::mutex mutex_;
  int64_t skipped_ = 0;
  std::string first_;
};

}  // namespace convseq
