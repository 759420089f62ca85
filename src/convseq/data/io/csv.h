#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace convseq {

// Splits CSV (RFC 4180) into fields, line by line: a quoted field may hold delimiters, doubled
// quotes and line ends, so that a record may take several lines. A quote inside an unquoted field
// is a character like any other.
//
//   CsvRecord record;
//   while (!record.add_line(line)) { … get the next line … }
//   record.fields();
class CsvRecord {
 public:
  explicit CsvRecord(char delimiter = ',') : delimiter_(delimiter) {}

  // True when the record is complete. Throws an Error on text after a closing quote.
  bool add_line(std::string_view line);

  std::vector<std::string>& fields() { return fields_; }
  size_t bytes() const { return bytes_; }  // of all lines so far

 private:
  char delimiter_;
  std::vector<std::string> fields_;
  bool quoted_ = false;  // inside a quoted field, which goes on in the next line
  size_t bytes_ = 0;
};

}  // namespace convseq
