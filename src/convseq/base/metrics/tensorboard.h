#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string_view>

#include "convseq/base/file/append_file.h"

namespace convseq {

class ProtoMessage;

struct TensorBoardOptions {
  // A run that resumes after this step supersedes later steps in the folder's earlier files.
  std::optional<int64_t> resumed_step = std::nullopt;
  std::function<std::chrono::system_clock::time_point()> clock = std::chrono::system_clock::now;
};

struct Scalar {
  std::string_view tag;  // "train/loss"
  double value = 0;
};

// A TensorBoard event file in a log folder: TFRecords of protobuf messages.
class TensorBoard {
 public:
  explicit TensorBoard(const std::filesystem::path& folder, TensorBoardOptions options = {});

  void scalars(int64_t step, std::span<const Scalar> values);
  void text(int64_t step, std::string_view tag, std::string_view markdown);

  const std::filesystem::path& path() const { return file_.path(); }

 private:
  ProtoMessage event(int64_t step) const;
  void append(const ProtoMessage& event);

  TensorBoardOptions options_;
  AppendFile file_;
};

}  // namespace convseq
