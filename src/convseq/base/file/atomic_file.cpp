#include "convseq/base/file/atomic_file.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <optional>
#include <vector>

#include "convseq/base/file/system_error.h"

namespace convseq {
namespace fs = std::filesystem;
namespace {

// Before the process's number: not yet whole, or just replaced. No user's file is named so.
constexpr std::string_view kNew = ".convseq-tmp-";
constexpr std::string_view kOld = ".convseq-old-";

fs::path beside(const fs::path& path, std::string_view mark) {
  fs::path temporary = path;
  temporary += fmt::format("{}{}", mark, ::getpid());
  return temporary;
}

// "best.convseq-tmp-123" -> "best"; nothing where the name has no such end.
std::optional<std::string> name_before(const fs::path& path, std::string_view mark) {
  const std::string name = path.filename().string();
  const size_t found = name.rfind(mark);
  if (found == name.npos || name.size() == found + mark.size()) return std::nullopt;
  const auto digits = name.begin() + static_cast<std::ptrdiff_t>(found + mark.size());
  if (!std::all_of(digits, name.end(), [](char c) { return c >= '0' && c <= '9'; })) {
    return std::nullopt;
  }
  return name.substr(0, found);
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

AtomicFile::AtomicFile(fs::path path) : path_(std::move(path)), temporary_(beside(path_, kNew)) {
  file_ = std::fopen(temporary_.c_str(), "wb");
  if (file_ == nullptr) fail_to("create", path_);
}

AtomicFile::~AtomicFile() {
  if (file_ == nullptr) return;
  std::fclose(file_);
  ::unlink(temporary_.c_str());
}

void AtomicFile::write(std::string_view text) { write(std::as_bytes(std::span(text))); }

void AtomicFile::write(std::span<const std::byte> bytes) {
  if (std::fwrite(bytes.data(), 1, bytes.size(), file_) != bytes.size()) fail_to("write", path_);
}

void AtomicFile::write_at(size_t offset, std::span<const std::byte> bytes) {
  if (std::fseek(file_, static_cast<long>(offset), SEEK_SET) != 0) fail_to("write", path_);
  write(bytes);
  if (std::fseek(file_, 0, SEEK_END) != 0) fail_to("write", path_);
}

void AtomicFile::commit() {
  if (std::fflush(file_) != 0 || ::fsync(::fileno(file_)) != 0) fail_to("write", path_);
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) fail_to("replace", path_);
  std::fclose(file_);
  file_ = nullptr;
  sync_folder(path_.parent_path());
}

void write_file_atomically(const fs::path& path, std::string_view text) {
  AtomicFile file(path);
  file.write(text);
  file.commit();
}

namespace {

// Puts `fresh` in the place of the folder `path`, which is not empty; what stood there is at the
// returned path. In one step where the filesystem can exchange two names (NFS, Lustre and overlays
// cannot); else in two, between which remove_unfinished() brings back what stood there.
fs::path replace_folder(const fs::path& fresh, const fs::path& path) {
  if (::renameat2(AT_FDCWD, fresh.c_str(), AT_FDCWD, path.c_str(), RENAME_EXCHANGE) == 0) {
    return fresh;
  }
  const fs::path old = beside(path, kOld);
  if (::rename(path.c_str(), old.c_str()) != 0) fail_to("replace", path);
  if (::rename(fresh.c_str(), path.c_str()) != 0) {
    const int why = errno;
    ::rename(old.c_str(), path.c_str());
    fail_to("replace", path, why);
  }
  return old;
}

}  // namespace

void write_folder_atomically(const fs::path& given,
                             const std::function<void(const fs::path&)>& fill) {
  std::error_code error;
  fs::path path = without_trailing_slash(given);
  if (fs::is_symlink(path, error)) path = fs::weakly_canonical(path, error);
  const fs::path temporary = beside(path, kNew);
  if (path.has_parent_path()) fs::create_directories(path.parent_path(), error);
  fs::remove_all(temporary, error);
  if (!fs::create_directory(temporary, error)) fail_to("create", path, error.value());
  try {
    fill(temporary);
    sync_folder(temporary);
    if (::rename(temporary.c_str(), path.c_str()) != 0) {
      // A folder that is not empty stands there.
      if (errno != ENOTEMPTY && errno != EEXIST) fail_to("replace", path);
      fs::remove_all(replace_folder(temporary, path), error);
    }
  } catch (...) {
    fs::remove_all(temporary, error);
    throw;
  }
  sync_folder(path.parent_path());
}

bool is_unfinished(const fs::path& path) {
  return name_before(path, kNew) || name_before(path, kOld);
}

void remove_abandoned(const fs::path& path) {
  const std::string prefix = path.filename().string() + std::string(kNew);
  const fs::path folder = path.parent_path();
  std::error_code error;
  std::vector<fs::path> found;
  auto entry = fs::directory_iterator(folder.empty() ? "." : folder, error);
  for (; !error && entry != fs::directory_iterator(); entry.increment(error)) {
    if (name_before(entry->path(), kNew) != path.filename().string()) continue;
    const std::string name = entry->path().filename().string();
    const pid_t writer = std::atoi(name.c_str() + prefix.size());
    if (::kill(writer, 0) == 0 || errno != ESRCH) continue;
    std::error_code gone;
    const auto written = fs::last_write_time(entry->path(), gone);
    if (!gone && written < fs::file_time_type::clock::now() - std::chrono::hours(1)) {
      found.push_back(entry->path());
    }
  }
  for (const fs::path& each : found) fs::remove_all(each, error);
}

void remove_unfinished(const fs::path& folder) {
  std::vector<fs::path> found;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (is_unfinished(entry.path())) found.push_back(entry.path());
  }
  std::error_code error;
  for (const fs::path& path : found) {
    const auto replaced = name_before(path, kOld);
    if (replaced && !fs::exists(folder / *replaced)) {
      fs::rename(path, folder / *replaced, error);  // nothing had taken its place yet
    } else {
      fs::remove_all(path, error);
    }
  }
}

}  // namespace convseq
