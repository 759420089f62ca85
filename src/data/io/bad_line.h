#pragma once

#include <cstdint>
#include <mutex>
#include <string>

#include "convseq/base/enum_names.h"

namespace convseq {

enum class OnBadLine { Stop, Skip };
template <>
inline constexpr auto kEnumNames<OnBadLine> =
    std::to_array<EnumName<OnBadLine>>({{OnBadLine::Stop, "stop"}, {OnBadLine::Skip, "skip"}});

// Where every reader reports a line it cannot use. Several threads may share one.
class BadLines {
 public:
  explicit BadLines(OnBadLine policy = OnBadLine::Stop) : policy_(policy) {}

  // `problem` begins with "file:line: ". Stop: throws it as an Error. Skip: counts it; the first
  // few are logged one by one.
  void report(const std::string& problem);

  bool stops() const { return policy_ == OnBadLine::Stop; }
  int64_t skipped() const;
  std::string summary() const;  // "3 bad lines skipped, the first: a.txt:7: …"; empty when none was

 private:
  const OnBadLine policy_;
  mutable std::mutex mutex_;
  int64_t skipped_ = 0;
  std::string first_;
};

}  // namespace convseq
