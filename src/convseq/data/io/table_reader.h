#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "convseq/data/io/line_reader.h"
#include "convseq/data/task/row.h"

namespace convseq {

enum class TableForm { Lines, JsonLines, Csv, Tsv, FastText };
template <>
inline constexpr auto kEnumNames<TableForm> =
    std::to_array<EnumName<TableForm>>({{TableForm::Lines, "lines"},
                                        {TableForm::JsonLines, "jsonl"},
                                        {TableForm::Csv, "csv"},
                                        {TableForm::Tsv, "tsv"},
                                        {TableForm::FastText, "fasttext"}});

struct TableReaderOptions {
  std::vector<std::string> columns;  // of a CSV or TSV file without a header line
  std::vector<std::string> needed;   // columns that the file must have
  bool label_lists = false;          // fastText's lines may have several labels
  std::optional<TableForm> form;     // default: as the file is named, or as standard input begins
  // The column of plain lines. Where it is given, a file that is named neither as JSON lines nor as
  // CSV or TSV has plain lines, empty ones included; so has standard input that does not begin with
  // a JSON object; and a file without rows is no error.
  std::string line_column;
  bool may_be_empty = false;  // as a file of plain lines always may
  LineReaderOptions lines;
};

// The rows of one file: JSON lines (.jsonl, .json), CSV (.csv: RFC 4180, fields over several lines
// included, separated by commas or, as the first line tells, by semicolons), TSV (.tsv: tabs, no
// quoting) or fastText's lines (.txt, .ft: the columns label and text), each also with .gz or .zst.
// The format of standard input is detected from its first line with text. CSV and TSV begin with a
// header line. JSON numbers and booleans become text (1.50 is "1.5"), null an empty text.
class TableReader {
 public:
  explicit TableReader(const std::filesystem::path& file, TableReaderOptions options = {});

  bool next(Row& row);  // false at the end
  // Whether next() would now wait for a pipe. A record that has come in part may still make it
  // wait.
  bool would_wait() const { return lines_.would_wait(/*skips_blank_lines=*/!has_plain_lines()); }

  // Whether the file's extension is that of a table; false for .json, which is ambiguous.
  static bool has_table_name(const std::filesystem::path& file);
  // The names of the columns: of the first row.
  static std::vector<std::string> columns_of(const std::filesystem::path& file);

  std::string where() const { return lines_.where(first_line_); }  // "file:line" of the last row
  void report(const Error& problem);                               // that the last row is bad

 private:
  std::optional<TableForm> form_of(const std::filesystem::path& file) const;
  TableForm form_of_first_line() const;
  bool has_plain_lines() const;  // of which an empty one is a row too
  bool next_line();
  void require_columns(const std::vector<std::string>& names) const;
  char delimiter_of_first_line() const;
  std::vector<std::string> take_record();
  void take_names();
  void take_row(Row& row);

  TableReaderOptions options_;
  LineReader lines_;
  std::optional<TableForm> form_;     // none until the first line of standard input is read
  std::vector<std::string> columns_;  // of a CSV or TSV file, once known
  char delimiter_ = '\0';             // of a CSV file, once known
  std::string line_;
  int64_t first_line_ = 0;     // of the last row
  int64_t without_a_row_ = 0;  // blank lines and header lines
  bool ended_ = false;
};

}  // namespace convseq
