#pragma once

#include <cstdlib>
#include <filesystem>

namespace convseq::testing {

// The folder of the real data sets, which are no part of the repository, found as the program finds
// it: $CONVSEQ_DATA, or `data` in the current folder. Tests that need them are reported as skipped
// where they are missing.
inline std::filesystem::path real_data() {
  const char* given = std::getenv("CONVSEQ_DATA");
  return given != nullptr ? given : "data";
}

}  // namespace convseq::testing
