#include "convseq/base/machine.h"

#include <fmt/format.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <thread>

namespace convseq {
namespace {

constexpr int64_t kKilobyte = 1024, kMegabyte = 1024 * kKilobyte;

// The C library knows the caches of x86, the kernel's files ("1024K") also those of Arm.
int64_t reported_l2_bytes() {
#ifdef _SC_LEVEL2_CACHE_SIZE
  if (const int64_t bytes = ::sysconf(_SC_LEVEL2_CACHE_SIZE); bytes > 0) return bytes;
#endif
  std::ifstream file("/sys/devices/system/cpu/cpu0/cache/index2/size");
  int64_t kilobytes = 0;
  return file >> kilobytes ? kilobytes * kKilobyte : kMegabyte;
}

}  // namespace

std::string architecture() {
  utsname system{};
  ::uname(&system);
  return system.machine;
}

std::string machine_name() {
  return fmt::format("{}-{}cores", architecture(), std::thread::hardware_concurrency());
}

unsigned hardware_threads() { return std::max(1U, std::thread::hardware_concurrency()); }

int64_t l2_cache_bytes() {
  static const int64_t bytes = std::clamp(reported_l2_bytes(), 256 * kKilobyte, 4 * kMegabyte);
  return bytes;
}

}  // namespace convseq
