#include "convseq/base/file/same_file.h"

#include <sys/stat.h>

namespace convseq {

bool leads_to(const std::filesystem::path& path, int descriptor) {
  struct stat named {
  }, opened{};
  return ::stat(path.c_str(), &named) == 0 && ::fstat(descriptor, &opened) == 0 &&
         named.st_ino == opened.st_ino && named.st_dev == opened.st_dev;
}

}  // namespace convseq
