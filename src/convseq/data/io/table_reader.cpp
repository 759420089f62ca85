#include "convseq/data/io/table_reader.h"

#include <fmt/ranges.h>

#include "convseq/base/contains.h"
#include "convseq/base/counted.h"
#include "convseq/base/file/json_file.h"
#include "convseq/data/io/csv.h"
#include "convseq/data/io/fasttext_line.h"
#include "convseq/data/io/json_line.h"

namespace convseq {
namespace fs = std::filesystem;
namespace {

std::string text_of(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  return value.is_null() ? "" : value.dump();
}

void take_json(std::string_view line, Row& row) {
  const Json object = parse_json_line(line);
  for (const auto& [name, value] : object.items()) {
    if (!value.is_array()) {
      row.add(name, text_of(value));
      continue;
    }
    std::vector<std::string> items;
    for (const Json& item : value) items.push_back(text_of(item));
    row.add(name, std::move(items));
  }
}

std::vector<std::string> split_at_tabs(std::string_view line) {
  std::vector<std::string> fields;
  while (true) {
    const size_t tab = std::min(line.find('\t'), line.size());
    fields.emplace_back(line.substr(0, tab));
    if (tab == line.size()) return fields;
    line.remove_prefix(tab + 1);
  }
}

}  // namespace

TableReader::TableReader(const fs::path& file, TableReaderOptions options)
    : options_(std::move(options)),
      lines_(file, options_.lines),
      form_(options_.form ? options_.form : form_of(file)),
      columns_(options_.columns) {
  if (form_ != TableForm::FastText) return;
  try {
    require_columns({"label", "text"});
  } catch (const Error& error) {
    throw error.at(file.string());
  }
}

bool TableReader::has_table_name(const fs::path& file) {
  const std::string form = uncompressed_extension(file);
  return form == ".jsonl" || form == ".csv" || form == ".tsv" || form == ".txt" || form == ".ft" ||
         (form == ".json" && lower_extension(file) != ".json");
}

std::vector<std::string> TableReader::columns_of(const fs::path& file) {
  TableReader reader(file);
  std::vector<std::string> names;
  Row row;
  if (reader.next(row)) {
    for (const Row::Field& field : row.fields()) names.push_back(field.name);
  }
  return names;
}

std::optional<TableForm> TableReader::form_of(const fs::path& file) const {
  const std::string form = uncompressed_extension(file);
  if (form == ".jsonl" || form == ".json") return TableForm::JsonLines;
  if (form == ".csv") return TableForm::Csv;
  if (form == ".tsv") return TableForm::Tsv;
  if (file == "-") return std::nullopt;
  if (!options_.line_column.empty()) return TableForm::Lines;
  if (form == ".txt" || form == ".ft") return TableForm::FastText;
  fail(
      "{}: not a form of table; allowed: .jsonl, .csv, .tsv, fastText's .txt and .ft, each also "
      "with .gz or .zst",
      file.string());
}

TableForm TableReader::form_of_first_line() const {
  if (line_.starts_with('{')) return TableForm::JsonLines;
  if (!options_.line_column.empty()) return TableForm::Lines;
  if (line_.starts_with(FastTextLine::kPrefix)) return TableForm::FastText;
  return line_.find('\t') != line_.npos ? TableForm::Tsv : TableForm::Csv;
}

bool TableReader::next(Row& row) {
  while (next_line()) {
    // An empty line, which would be a row of plain text, does not tell the form.
    const bool tells_form = !has_plain_lines() || !is_blank(line_);
    if (!form_ && tells_form) form_ = form_of_first_line();
    if (form_ == TableForm::Csv && delimiter_ == '\0') delimiter_ = delimiter_of_first_line();
    if ((form_ == TableForm::Csv || form_ == TableForm::Tsv) && columns_.empty()) {
      take_names();
      continue;
    }
    try {
      take_row(row);
      return true;
    } catch (const Error& error) {
      report(error);
    }
  }
  const bool may_be_empty = options_.may_be_empty || !options_.line_column.empty();
  if (!std::exchange(ended_, true) && lines_.line_number() == without_a_row_ && !may_be_empty) {
    report(Error("the file holds no row"));
  }
  return false;
}

bool TableReader::has_plain_lines() const {
  return form_ ? form_ == TableForm::Lines : !options_.line_column.empty();
}

bool TableReader::next_line() {
  lines_.check_utf8(form_ != TableForm::Csv);
  while (lines_.next(line_)) {
    first_line_ = lines_.line_number();
    if (has_plain_lines()) return true;
    // In CSV and TSV a line of white space may be a row of empty fields.
    const bool separated = form_ != TableForm::JsonLines && form_ != TableForm::FastText;
    if (separated ? !line_.empty() : !is_blank(line_)) return true;
    ++without_a_row_;
  }
  return false;
}

void TableReader::take_row(Row& row) {
  row.clear();
  if (has_plain_lines()) {
    row.add(options_.line_column, line_);
    return;
  }
  if (form_ == TableForm::JsonLines) {
    take_json(line_, row);
    return;
  }
  if (form_ == TableForm::FastText) {
    FastTextLine line = FastTextLine::parse(line_);
    require(options_.label_lists || !line.labels.empty(),
            "has no {}; fastText's lines begin with one: {}good A fine film.",
            FastTextLine::kPrefix, FastTextLine::kPrefix);
    require(options_.label_lists || line.labels.size() == 1,
            "has {} labels ({}); several labels per text need a task with label_kind multi",
            line.labels.size(), fmt::join(line.labels, ", "));
    row.add("label", std::move(line.labels));
    row.add("text", std::move(line.text));
    return;
  }
  std::vector<std::string> record = take_record();
  require(record.size() == columns_.size(), "has {}; there are {}: {}",
          counted(std::ssize(record), "field"), counted(std::ssize(columns_), "column"),
          fmt::join(columns_, ", "));
  for (size_t i = 0; i < record.size(); ++i) row.add(columns_[i], std::move(record[i]));
}

// A file without column names or without a needed column is an Error even if bad lines are skipped.
void TableReader::take_names() try {
  const std::vector<std::string> names = take_record();
  without_a_row_ = lines_.line_number();
  for (auto name = names.begin(); name != names.end(); ++name) {
    require(std::find(names.begin(), name, *name) == name, "two columns are named {}", *name);
  }
  require_columns(names);
  columns_ = names;
} catch (const Error& error) {
  throw error.at(where());
}

void TableReader::require_columns(const std::vector<std::string>& names) const {
  for (const std::string& name : options_.needed) {
    if (contains(names, name)) continue;
    const bool tabs =
        form_ == TableForm::Csv && names.size() == 1 && line_.find('\t') != line_.npos;
    fail("has no column {}; it has: {}{}", name, fmt::join(names, ", "),
         tabs                ? " (its fields are separated by tabs: name it .tsv)"
         : delimiter_ == ';' ? " (its fields are separated by semicolons)"
                             : "");
  }
}

// The delimiter that finds more of the needed columns; else the one that gives several columns.
char TableReader::delimiter_of_first_line() const {
  const auto score = [&](char delimiter) -> int {
    CsvRecord record(delimiter);
    try {
      record.add_line(line_);
    } catch (const Error&) {
      return 0;
    }
    const auto& fields = record.fields();
    if (!columns_.empty()) return fields.size() == columns_.size() ? 1 : 0;
    const auto found = std::count_if(options_.needed.begin(), options_.needed.end(),
                                     [&](const auto& name) { return contains(fields, name); });
    return 2 * static_cast<int>(found) + (fields.size() > 1 ? 1 : 0);
  };
  return score(';') > score(',') ? ';' : ',';
}

std::vector<std::string> TableReader::take_record() {
  if (form_ == TableForm::Tsv) return split_at_tabs(line_);
  CsvRecord record(delimiter_);
  std::string problem = utf8_problem(line_);
  bool whole = true;
  while (!record.add_line(line_)) {
    const int64_t expected = lines_.line_number() + 1;
    require(record.bytes() <= options_.lines.max_line_bytes,
            "a record of more than {} bytes, up to line {}; is a quote missing?",
            options_.lines.max_line_bytes, lines_.line_number());
    require(lines_.next(line_), "a quoted field has no end, up to line {}", lines_.line_number());
    whole = whole && lines_.line_number() == expected;
    if (!problem.empty()) continue;
    problem = utf8_problem(line_);
    if (!problem.empty()) problem = fmt::format("line {}: {}", lines_.line_number(), problem);
  }
  require(problem.empty(), "{}", problem);
  require(whole, "a line within the record is bad");
  return std::move(record.fields());
}

void TableReader::report(const Error& problem) { lines_.bad_lines().report(problem.at(where())); }

}  // namespace convseq
