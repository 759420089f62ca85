#include "convseq/study/run/cell_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "convseq/base/file/system_error.h"

namespace convseq {
namespace {

// The descriptor of the locked file; -1 if another process holds it.
int open_locked(const std::filesystem::path& file, int operation) {
  const int descriptor = ::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (descriptor < 0) fail_to("create", file);
  while (::flock(descriptor, operation) != 0) {
    const int why = errno;
    if (why == EINTR) continue;
    ::close(descriptor);
    if (why != EWOULDBLOCK) fail_to("lock", file, why);
    return -1;
  }
  return descriptor;
}

}  // namespace

std::optional<CellLock> CellLock::try_to_get(const std::filesystem::path& file) {
  const int descriptor = open_locked(file, LOCK_EX | LOCK_NB);
  return descriptor < 0 ? std::nullopt : std::optional(CellLock(descriptor));
}

CellLock CellLock::wait_for(const std::filesystem::path& file) {
  return CellLock(open_locked(file, LOCK_EX));
}

bool CellLock::is_held(const std::filesystem::path& file) {
  const int descriptor = ::open(file.c_str(), O_RDWR | O_CLOEXEC);
  if (descriptor < 0) return false;
  const bool held = ::flock(descriptor, LOCK_SH | LOCK_NB) != 0;
  ::close(descriptor);
  return held;
}

void CellLock::sign() const {
  const std::string holder = std::to_string(::getpid());
  if (::ftruncate(descriptor_, 0) != 0 ||
      ::pwrite(descriptor_, holder.data(), holder.size(), 0) < 0) {
    // A full disk: the lock holds all the same.
  }
}

// Another process may have a copy of the descriptor (WorkerLink): closing alone would not unlock.
CellLock::~CellLock() {
  if (descriptor_ < 0) return;
  ::flock(descriptor_, LOCK_UN);
  ::close(descriptor_);
}

}  // namespace convseq
