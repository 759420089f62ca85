#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

#include "convseq/base/file/append_file.h"
#include "convseq/base/file/json_file.h"

namespace convseq {

// metrics.jsonl: one JSON object a line, {"step":410,"loss":3.12,…}, for a program to read. A
// killed process leaves at most one torn line, the last.
class MetricsLog {
 public:
  // Begins anew, or goes on after `resumed_step`: then lines of later steps, which will be written
  // again, and a torn end are cut off.
  explicit MetricsLog(const std::filesystem::path& path,
                      std::optional<int64_t> resumed_step = std::nullopt);

  // NaN and infinity, which JSON does not have, become null.
  void write(int64_t step, const Json& values);

 private:
  AppendFile file_;
};

}  // namespace convseq
