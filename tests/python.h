#pragma once

#include <cstdlib>
#include <string>

namespace convseq::testing {

// Runs python3 with the packages that tools/setup.sh installs; the exit code.
inline int python(const std::string& arguments) {
  const std::string path = CONVSEQ_SOURCE_DIR "/.deps/python";
  return std::system(("PYTHONPATH='" + path + "':$PYTHONPATH python3 " + arguments).c_str());
}

}  // namespace convseq::testing
