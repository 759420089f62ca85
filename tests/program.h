#pragma once

#include "shell.h"

namespace convseq::testing {

// Runs `build/.../convseq <arguments>` through the shell.
inline Outcome run_convseq(const std::string& arguments) {
  return run_shell(std::string(CONVSEQ_PROGRAM) + " " + arguments);
}

}  // namespace convseq::testing
