#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace convseq::bench {

// Asked before each measurement, with how many are done, of how many, and what comes next. False:
// stop here and return what was measured so far.
using Watch = std::function<bool(int64_t done, int64_t total, const std::string& next)>;

inline bool go_on(int64_t, int64_t, const std::string&) { return true; }

}  // namespace convseq::bench
