#pragma once

#include <string_view>

#include "convseq/base/file/json_file.h"

namespace convseq {

// The JSON object on one line of a file. The caller adds the place to an Error.
Json parse_json_line(std::string_view line);

}  // namespace convseq
