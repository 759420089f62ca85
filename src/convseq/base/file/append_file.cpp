#include "convseq/base/file/append_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "convseq/base/file/system_error.h"

namespace convseq {

AppendFile::AppendFile(std::filesystem::path path, uint64_t keep) : path_(std::move(path)) {
  file_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (file_ < 0) fail_to("create", path_);
  std::error_code error;
  const uint64_t size = std::filesystem::file_size(path_, error);
  if (error || size <= keep) return;  // a pipe or a device has no size
  if (::ftruncate(file_, static_cast<off_t>(keep)) != 0) {
    const int why = errno;
    ::close(file_);
    fail_to("shorten", path_, why);
  }
}

AppendFile::~AppendFile() { ::close(file_); }

void AppendFile::append(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(file_, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail_to("write", path_);
    bytes.remove_prefix(static_cast<size_t>(written));
  }
}

}  // namespace convseq
