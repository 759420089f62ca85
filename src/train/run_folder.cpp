#include "train/run_folder.h"

#include "base/atomic_file.h"
#include "base/error.h"

namespace convseq {
namespace fs = std::filesystem;

RunFolder::RunFolder(fs::path path) : path_(std::move(path)), made_(!fs::exists(path_)) {
  std::error_code error;
  fs::create_directories(path_, error);
  require(fs::is_directory(path_), "{}: cannot create: {}", path_.string(), error.message());
  const fs::path probe = path_ / ".writable";
  write_file_atomically(probe, "");  // an Error names what hinders it
  fs::remove(probe, error);
  remove_unfinished(path_);
}

RunFolder::~RunFolder() {
  std::error_code error;
  if (made_) fs::remove(path_, error);  // only where it is empty
}

void RunFolder::check_room(int64_t parameters, int64_t keep) const {
  // Weights and two averages beside them, AdamW's.
  const double needed = static_cast<double>(parameters) * 4 * 3 * static_cast<double>(keep + 1);
  std::error_code error;
  const auto free = static_cast<double>(fs::space(path_, error).available);
  require(
      error || free >= needed,
      "{}: {} checkpoints of this model and the next one need {:.1f} GB, and {:.1f} GB are free",
      path_.string(), keep, needed / 1e9, free / 1e9);
}

}  // namespace convseq
