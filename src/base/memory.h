#pragma once

#include <filesystem>
#include <string>

#include "convseq/base/error.h"

namespace convseq {

// What a computation would need is more than there is. The command line adds the flag that lifts
// the limit.
class NotEnoughMemory : public Error {
 public:
  NotEnoughMemory(const std::string& message, double needed) : Error(message), needed_(needed) {}
  double needed() const { return needed_; }

 private:
  double needed_;
};

// Bytes this process can still take: the least of the machine's available memory, what the control
// groups (v1 and v2) leave, and what RLIMIT_AS and RLIMIT_DATA leave. `root` holds proc and sys.
double available_memory_bytes(const std::filesystem::path& root = "/");

// Throws "WHAT: needs about 24.1 GB of memory, and 11.2 GB are free". `limit_bytes` 0: what is
// available; else this limit, whatever is available.
void require_memory(double needed, const std::string& what, double limit_bytes = 0);

std::string short_bytes(double bytes);  // "1.5 GB", in powers of 1000

}  // namespace convseq
