#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace convseq {

// Whether a folder or a pattern includes files whose names mark them as validation or test data.
enum class HeldOutFiles { LeaveOut, Take };

// The files of a corpus, in order of name: one file, "-" for standard input, a folder (with the
// folders in it) or a pattern such as "c4/en/*.json.gz". Throws an Error where there is none.
//
// Training on validation text invalidates every later score. Therefore files such as
// c4-validation.00000-of-00008.json.gz are left out of a folder and of a pattern, and a log line
// says how many. They are included where they are named: as a file, by a folder or a pattern that
// itself contains "validation" (or "test", …), or where there are no other files.
std::vector<std::filesystem::path> expand_corpus(const std::string& corpus,
                                                 HeldOutFiles held_out = HeldOutFiles::LeaveOut);

}  // namespace convseq
