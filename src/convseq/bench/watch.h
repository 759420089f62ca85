#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace convseq::bench {

// Called before each measurement with the number done, the total, and the name of the next one. If
// it returns false, the benchmark stops and returns what was measured so far.
using Watch = std::function<bool(int64_t done, int64_t total, const std::string& next)>;

inline bool go_on(int64_t, int64_t, const std::string&) { return true; }

}  // namespace convseq::bench
