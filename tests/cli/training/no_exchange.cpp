// Preloaded, it makes the filesystem one that cannot exchange two names, as NFS, Lustre and some
// overlays are.
#include <cerrno>

extern "C" int renameat2(int, const char*, int, const char*, unsigned) {
  errno = EINVAL;
  return -1;
}
