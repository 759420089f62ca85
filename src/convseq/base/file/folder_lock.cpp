#include "convseq/base/file/folder_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "convseq/base/file/same_file.h"
#include "convseq/base/file/system_error.h"
#include "convseq/base/log.h"

namespace convseq {
namespace {

std::string owner_in(int descriptor) {
  char text[200];
  const ssize_t size = ::pread(descriptor, text, sizeof text, 0);
  return size > 0 ? std::string(text, static_cast<size_t>(size)) : "another process";
}

std::string this_process() {
  char host[100] = "";
  ::gethostname(host, sizeof host - 1);
  return fmt::format("process {} on {}", ::getpid(), host);
}

}  // namespace

FolderLock::FolderLock(const std::filesystem::path& folder) : file_(folder / kFile) {
  while (true) {
    descriptor_ = ::open(file_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (descriptor_ < 0) fail_to("create", file_);
    if (::flock(descriptor_, LOCK_EX | LOCK_NB) != 0) {
      const int why = errno;
      const std::string owner = owner_in(descriptor_);
      if (why != EWOULDBLOCK) {
        log::warning("{}: this filesystem has no locks ({}); two runs in it are not noticed",
                     folder.string(), std::strerror(why));
        return;
      }
      ::close(descriptor_);
      fail("{}: {} is writing there; wait for it, or choose another folder", folder.string(),
           owner);
    }
    if (leads_to(file_, descriptor_)) break;
    // Its holder removed it while we waited.
    ::close(descriptor_);
  }
  const std::string owner = this_process();
  if (::ftruncate(descriptor_, 0) != 0 ||
      ::pwrite(descriptor_, owner.data(), owner.size(), 0) < 0) {
    // A full disk: the lock holds all the same, without its owner's name.
  }
}

FolderLock::~FolderLock() {
  ::unlink(file_.c_str());
  ::close(descriptor_);
}

}  // namespace convseq
