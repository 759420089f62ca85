#pragma once

#include <cstdio>
#include <cstdlib>

namespace convseq::testing {

// Aborts where a promise is not kept: to libFuzzer that is a crash.
inline void promise(bool kept, const char* what) {
  if (kept) return;
  std::fprintf(stderr, "broken promise: %s\n", what);
  std::abort();
}

}  // namespace convseq::testing
