#include "convseq/data/io/csv.h"

#include "convseq/base/error.h"

namespace convseq {

bool CsvRecord::add_line(std::string_view line) {
  bytes_ += line.size() + 1;
  size_t at = 0;
  if (quoted_) fields_.back() += '\n';
  while (true) {
    if (!quoted_) {  // at the start of a field
      fields_.emplace_back();
      if (at < line.size() && line[at] == '"') {
        quoted_ = true;
        ++at;
      }
    }
    std::string& field = fields_.back();
    while (quoted_) {
      const size_t quote = line.find('"', at);
      if (quote == line.npos) {
        field += line.substr(at);
        return false;
      }
      field += line.substr(at, quote - at);
      at = quote + 1;
      if (at < line.size() && line[at] == '"') {  // a doubled quote stands for one
        field += '"';
        ++at;
      } else {
        quoted_ = false;
        require(at == line.size() || line[at] == delimiter_,
                "text follows the closing quote of field {}", fields_.size());
      }
    }
    const size_t delimiter = line.find(delimiter_, at);
    if (delimiter == line.npos) {
      field += line.substr(at);
      return true;
    }
    field += line.substr(at, delimiter - at);
    at = delimiter + 1;
  }
}

}  // namespace convseq
