#pragma once

#include <sys/wait.h>

#include <cstdio>
#include <string>

namespace convseq::testing {

struct Outcome {
  int exit_code = -1;
  std::string output;  // standard output and standard error together
};

// Runs `build/.../convseq <arguments>` through the shell.
inline Outcome run_convseq(const std::string& arguments) {
  Outcome outcome;
  std::FILE* pipe =
      ::popen((std::string(CONVSEQ_PROGRAM) + " " + arguments + " 2>&1").c_str(), "r");
  char buffer[4096];
  size_t got = 0;
  while ((got = std::fread(buffer, 1, sizeof buffer, pipe)) > 0) outcome.output.append(buffer, got);
  const int status = ::pclose(pipe);
  if (WIFEXITED(status)) outcome.exit_code = WEXITSTATUS(status);
  return outcome;
}

}  // namespace convseq::testing
