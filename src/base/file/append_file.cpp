#include "convseq/base/file/append_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "convseq/base/error.h"

namespace convseq {

AppendFile::AppendFile(std::filesystem::path path, uint64_t keep) : path_(std::move(path)) {
  file_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (file_ < 0) fail_with_errno("create");
  std::error_code error;
  const uint64_t size = std::filesystem::file_size(path_, error);
  if (error || size <= keep) return;  // a pipe or a device has no size
  if (::ftruncate(file_, static_cast<off_t>(keep)) != 0) {
    const int why = errno;
    ::close(file_);
    errno = why;
    fail_with_errno("shorten");
  }
}

AppendFile::~AppendFile() { ::close(file_); }

void AppendFile::append(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(file_, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail_with_errno("write");
    bytes.remove_prefix(static_cast<size_t>(written));
  }
}

void AppendFile::fail_with_errno(const char* doing) const {
  fail("{}: cannot {}: {}", path_.string(), doing, std::strerror(errno));
}

}  // namespace convseq
