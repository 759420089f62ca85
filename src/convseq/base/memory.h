#pragma once

#include <filesystem>
#include <string>

#include "convseq/base/error.h"

namespace convseq {

// A computation would need more memory than there is.
class NotEnoughMemory : public Error {
 public:
  using Error::Error;
};

// Bytes that this process can still allocate: the minimum of the machine's available memory and of
// what the control groups (v1 and v2), RLIMIT_AS and RLIMIT_DATA leave. `root` holds proc and sys.
double available_memory_bytes(const std::filesystem::path& root = "/");

// Throws "WHAT: needs about 24.1 GB of memory, and 11.2 GB are free; …", which names the option
// max_memory as the way out. `limit_bytes` 0: what is available; else this limit, whatever is
// available.
void require_memory(double needed, const std::string& what, double limit_bytes = 0);

std::string short_bytes(double bytes);  // "1.5 GB", in powers of 1000

}  // namespace convseq
