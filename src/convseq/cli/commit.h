#pragma once

namespace convseq::cli {

// The commit the program was built from, "" where that is unknown; the build writes commit.cpp.
extern const char* const kCommit;

}  // namespace convseq::cli
