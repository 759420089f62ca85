#pragma once

#include <cstdlib>
#include <filesystem>

namespace convseq::testing {

// The real data sets, which are no part of the repository: $CONVSEQ_DATA, or ../shared/data beside
// the checkout. A test that needs them skips, visibly, where they are not.
inline std::filesystem::path real_data() {
  const char* given = std::getenv("CONVSEQ_DATA");
  if (given != nullptr) return given;
  return std::filesystem::path(CONVSEQ_SOURCE_DIR) / "../shared/data";
}

}  // namespace convseq::testing
