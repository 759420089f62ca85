#include "convseq/data/io/json_line.h"

namespace convseq {

Json parse_json_line(std::string_view line) {
  Json value = parse_json(line);
  require(value.is_object(), "holds no JSON object");
  return value;
}

}  // namespace convseq
