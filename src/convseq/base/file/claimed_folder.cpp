#include "convseq/base/file/claimed_folder.h"

#include "convseq/base/file/atomic_file.h"
#include "convseq/base/file/system_error.h"

namespace convseq {
namespace fs = std::filesystem;

ClaimedFolder::ClaimedFolder(fs::path path, FolderKind kind)
    : path_(std::move(path)), made_(!fs::exists(path_)) {
  check_output_folder(path_, kind);
  std::error_code error;
  fs::create_directories(path_, error);
  if (!fs::is_directory(path_)) fail_to("create", path_, error.value());
  lock_.emplace(path_);  // an Error names what hinders it
  remove_unfinished(path_);
}

ClaimedFolder::~ClaimedFolder() {
  lock_.reset();
  std::error_code error;
  if (made_) fs::remove(path_, error);  // only where it is empty
}

}  // namespace convseq
