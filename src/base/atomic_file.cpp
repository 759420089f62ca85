#include "base/atomic_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

#include "base/error.h"

namespace convseq {
namespace fs = std::filesystem;
namespace {

constexpr std::string_view kMark = ".tmp-";

fs::path temporary_beside(const fs::path& path) {
  fs::path temporary = path;
  temporary += fmt::format("{}{}", kMark, ::getpid());
  return temporary;
}

bool is_temporary(const fs::path& path) {
  const std::string name = path.filename().string();
  const size_t mark = name.rfind(kMark);
  return mark != name.npos && name.size() > mark + kMark.size() &&
         std::all_of(name.begin() + static_cast<std::ptrdiff_t>(mark + kMark.size()), name.end(),
                     [](char c) { return c >= '0' && c <= '9'; });
}

fs::path without_trailing_slash(const fs::path& path) {
  return path.has_filename() ? path : path.parent_path();
}

// A rename is durable once the folder that holds the name is synced.
void sync_folder(const fs::path& folder) {
  const int file =
      ::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (file < 0) return;
  ::fsync(file);
  ::close(file);
}

}  // namespace

AtomicFile::AtomicFile(fs::path path)
    : path_(std::move(path)), temporary_(temporary_beside(path_)) {
  file_ = std::fopen(temporary_.c_str(), "wb");
  if (file_ == nullptr) fail_with_errno("create");
}

AtomicFile::~AtomicFile() {
  if (file_ == nullptr) return;
  std::fclose(file_);
  ::unlink(temporary_.c_str());
}

void AtomicFile::fail_with_errno(const char* doing) const {
  fail("{}: cannot {}: {}", path_.string(), doing, std::strerror(errno));
}

void AtomicFile::write(std::string_view text) { write(std::as_bytes(std::span(text))); }

void AtomicFile::write(std::span<const std::byte> bytes) {
  if (std::fwrite(bytes.data(), 1, bytes.size(), file_) != bytes.size()) fail_with_errno("write");
}

void AtomicFile::write_at(size_t offset, std::span<const std::byte> bytes) {
  if (std::fseek(file_, static_cast<long>(offset), SEEK_SET) != 0) fail_with_errno("write");
  write(bytes);
  if (std::fseek(file_, 0, SEEK_END) != 0) fail_with_errno("write");
}

void AtomicFile::commit() {
  if (std::fflush(file_) != 0 || ::fsync(::fileno(file_)) != 0) fail_with_errno("write");
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) fail_with_errno("replace");
  std::fclose(file_);
  file_ = nullptr;
  sync_folder(path_.parent_path());
}

void write_file_atomically(const fs::path& path, std::string_view text) {
  AtomicFile file(path);
  file.write(text);
  file.commit();
}

void write_folder_atomically(const fs::path& given,
                             const std::function<void(const fs::path&)>& fill) {
  const fs::path path = without_trailing_slash(given);
  const fs::path temporary = temporary_beside(path);
  std::error_code error;
  if (path.has_parent_path()) fs::create_directories(path.parent_path(), error);
  fs::remove_all(temporary, error);
  require(fs::create_directory(temporary, error), "{}: cannot create: {}", path.string(),
          error.message());
  try {
    fill(temporary);
    sync_folder(temporary);
    if (::rename(temporary.c_str(), path.c_str()) != 0) {
      // A folder that is not empty stands there: change places with it, then remove it.
      require(errno == ENOTEMPTY || errno == EEXIST, "{}: cannot replace: {}", path.string(),
              std::strerror(errno));
      require(
          ::renameat2(AT_FDCWD, temporary.c_str(), AT_FDCWD, path.c_str(), RENAME_EXCHANGE) == 0,
          "{}: cannot replace: {}", path.string(), std::strerror(errno));
      fs::remove_all(temporary, error);
    }
  } catch (...) {
    fs::remove_all(temporary, error);
    throw;
  }
  sync_folder(path.parent_path());
}

void remove_unfinished(const fs::path& folder) {
  std::vector<fs::path> found;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (is_temporary(entry.path())) found.push_back(entry.path());
  }
  std::error_code error;
  for (const fs::path& path : found) fs::remove_all(path, error);
}

}  // namespace convseq
