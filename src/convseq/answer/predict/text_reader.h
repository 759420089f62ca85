#pragma once

#include <deque>
#include <filesystem>
#include <optional>
#include <string>

#include "convseq/data/io/table_reader.h"
#include "convseq/data/task/text_template.h"

namespace convseq {

struct TextReaderOptions {
  TextTemplate source;            // over the columns of a table; plain lines are its only field
  std::string column;             // of the template's only field; empty: named as the field
  std::optional<TableForm> form;  // default: as the file is named, or as standard input begins
  ByteSource::Stop stop = {};  // asked while a pipe has nothing to read; true: as if it had ended
};

struct TextRow {
  int64_t number = 0;  // of the row in the whole file; the first is 1
  TextTemplate::Rendered source;
  std::string error;  // not empty: why the row cannot be used, with its place
};

// The texts of a file, or of standard input for "-": plain lines, JSON lines, CSV, TSV or fastText,
// plain or compressed. A row that cannot be used (not UTF-8, too long, empty, without a column) has
// its number too, so that rows and answers stay in step. A CSV or TSV file without a needed column
// is an Error.
class TextReader {
 public:
  TextReader(const std::filesystem::path& file, const TextReaderOptions& options);

  bool next(TextRow& row);  // false at the end
  // Whether next() would now wait for a pipe. A row that has come in part may still make it wait.
  bool would_wait() const { return errors_.empty() && !row_ && table_.would_wait(); }

 private:
  bool next_error(TextRow& row);
  TextTemplate::Rendered render(const Row& row) const;

  const TextReaderOptions options_;
  std::deque<std::string> errors_;  // of lines before the row that was read last
  BadLines bad_lines_;
  TableReader table_;
  std::optional<Row> row_;  // read, behind the errors
  int64_t rows_ = 0;
};

}  // namespace convseq
