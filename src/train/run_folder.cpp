#include "train/run_folder.h"

#include <algorithm>

#include "base/atomic_file.h"
#include "base/error.h"
#include "base/output_folder.h"

namespace convseq {
namespace fs = std::filesystem;
namespace {

std::string megabytes(double bytes) {
  return bytes >= 1e9 ? fmt::format("{:.1f} GB", bytes / 1e9)
                      : fmt::format("{:.1f} MB", bytes / 1e6);
}

}  // namespace

RunFolder::RunFolder(fs::path path) : path_(std::move(path)), made_(!fs::exists(path_)) {
  check_output_folder(path_, FolderKind::Run);
  std::error_code error;
  fs::create_directories(path_, error);
  require(fs::is_directory(path_), "{}: cannot create: {}", path_.string(), error.message());
  lock_.emplace(path_);  // an Error names what hinders it
  remove_unfinished(path_);
}

RunFolder::~RunFolder() {
  lock_.reset();
  std::error_code error;
  if (made_) fs::remove(path_, error);  // only where it is empty
}

void RunFolder::check_room(int64_t parameters, int64_t keep, int64_t kept) const {
  // Weights and two averages beside them, AdamW's.
  const int64_t more = keep + 1 - std::min(kept, keep);
  const double needed = static_cast<double>(parameters) * 4 * 3 * static_cast<double>(more);
  std::error_code error;
  const auto free = static_cast<double>(fs::space(path_, error).available);
  require(error || free >= needed,
          "{}: {} more checkpoint{} of this model need {}, and {} are free; keep fewer",
          path_.string(), more, more == 1 ? "" : "s", megabytes(needed), megabytes(free));
}

}  // namespace convseq
