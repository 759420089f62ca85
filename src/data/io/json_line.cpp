#include "convseq/data/io/json_line.h"

namespace convseq {

Json parse_json_line(std::string_view line) {
  try {
    Json value = parse_json(line, "");
    require(value.is_object(), ": holds no JSON object");
    return value;
  } catch (const Error& error) {
    fail("{}", std::string_view(error.what()).substr(2));  // no origin, no ": "
  }
}

}  // namespace convseq
