#pragma once

#include <gtest/gtest.h>

#include "shell.h"

namespace convseq::testing {

// Runs `build/.../convseq <arguments>` through the shell.
inline Outcome run_convseq(const std::string& arguments) {
  return run_shell(std::string(CONVSEQ_PROGRAM) + " " + arguments);
}

// Bad input: exit code 2, and this one line.
inline void expect_refusal(const std::string& arguments, const std::string& message) {
  const Outcome outcome = run_convseq(arguments);
  EXPECT_EQ(outcome.exit_code, 2) << arguments;
  EXPECT_EQ(outcome.output, "convseq: " + message + "\n") << arguments;
}

}  // namespace convseq::testing
