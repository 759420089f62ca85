#include "data/json_line.h"

#include "text/utf8.h"

namespace convseq {

Json parse_json_line(std::string_view line) {
  try {
    Json value = parse_json(line, "");
    require(value.is_object(), ": holds no JSON object");
    return value;
  } catch (const Error& error) {
    constexpr size_t kLongest = 160;  // the parser quotes all that it read of a value
    const std::string_view message =
        std::string_view(error.what()).substr(2);  // no origin, no ": "
    const std::string_view shown = utf8_prefix(message, kLongest);
    fail("{}{}", shown, shown.size() < message.size() ? "…" : "");
  }
}

}  // namespace convseq
