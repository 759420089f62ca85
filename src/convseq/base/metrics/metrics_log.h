#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

#include "convseq/base/file/append_file.h"
#include "convseq/base/file/json_file.h"

namespace convseq {

// metrics.jsonl: one JSON object per line, {"step":410,"loss":3.12,…}, for programs to read. A
// killed process leaves at most one incomplete line, the last.
class MetricsLog {
 public:
  // Starts a new file, or continues after `resumed_step`: lines of later steps, which will be
  // written again, and an incomplete last line are then removed.
  explicit MetricsLog(const std::filesystem::path& path,
                      std::optional<int64_t> resumed_step = std::nullopt);

  // NaN and infinity, which JSON does not have, become null.
  void write(int64_t step, const Json& values);

 private:
  AppendFile file_;
};

}  // namespace convseq
