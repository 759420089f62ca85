#pragma once

#include <sys/wait.h>

#include <cstdio>
#include <string>

namespace convseq::testing {

struct Outcome {
  int exit_code = -1;
  std::string output;  // standard output and standard error together
};

inline Outcome run_shell(const std::string& command) {
  Outcome outcome;
  std::FILE* pipe = ::popen((command + " 2>&1").c_str(), "r");
  char buffer[4096];
  size_t got = 0;
  while ((got = std::fread(buffer, 1, sizeof buffer, pipe)) > 0) outcome.output.append(buffer, got);
  const int status = ::pclose(pipe);
  if (WIFEXITED(status)) outcome.exit_code = WEXITSTATUS(status);
  return outcome;
}

}  // namespace convseq::testing
