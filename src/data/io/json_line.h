#pragma once

#include <string_view>

#include "convseq/base/file/json_file.h"

namespace convseq {

// The JSON object on one line of a file. Throws an Error that tells what is wrong, shortened where
// the line is long, and leaves it to the caller to say where.
Json parse_json_line(std::string_view line);

}  // namespace convseq
