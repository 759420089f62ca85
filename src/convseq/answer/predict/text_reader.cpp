#include "convseq/answer/predict/text_reader.h"

#include <fmt/ranges.h>

namespace convseq {
namespace {

// Bad lines in a row that are read before any is given out: a bound on the memory.
constexpr size_t kMostErrors = 1000;
struct GiveOutErrors {};

// The columns that the template takes its fields from.
std::vector<std::string> columns_of(const TextReaderOptions& options) {
  if (!options.column.empty()) return {options.column};
  return options.source.fields();
}

// The column that a line of plain text is put into; none where the template has several fields.
std::string line_column(const TextReaderOptions& options) {
  return options.source.fields().size() == 1 ? columns_of(options).front() : "";
}

const TextReaderOptions& checked(const TextReaderOptions& options) {
  const auto& fields = options.source.fields();
  require(!fields.empty(), "source \"{}\" puts in no field; write {{name}} for one",
          options.source.pattern());
  const bool one_text = options.form == TableForm::Lines || !options.column.empty();
  require(!one_text || fields.size() == 1,
          "the source \"{}\" has {} fields; use a table with the columns {}, or another source",
          options.source.pattern(), fields.size(), fmt::join(fields, ", "));
  return options;
}

bool has_text(const TextTemplate::Rendered& source) {
  const std::string_view text = source.text;
  return std::any_of(source.spans.begin(), source.spans.end(), [&](const auto& span) {
    return !is_blank(text.substr(span.begin, span.end - span.begin));
  });
}

}  // namespace

TextReader::TextReader(const std::filesystem::path& file, const TextReaderOptions& options)
    : options_(checked(options)),
      bad_lines_([this](const Error& problem) {
        errors_.emplace_back(problem.what());
        // Whoever writes into a pipe may wait for the error of its line.
        if (errors_.size() >= kMostErrors || table_.would_wait()) throw GiveOutErrors();
      }),
      table_(file, {.columns = {},
                    .needed = columns_of(options_),
                    .form = options_.form,
                    .line_column = line_column(options_),
                    .may_be_empty = true,
                    .lines = {.bad_lines = &bad_lines_, .stop = options_.stop}}) {}

bool TextReader::next(TextRow& row) {
  if (next_error(row)) return true;
  if (!row_) {
    row_.emplace();
    try {
      if (!table_.next(*row_)) row_.reset();
    } catch (const GiveOutErrors&) {
      row_.reset();
    }
    if (next_error(row)) return true;
    if (!row_) return false;
  }
  row = {.number = ++rows_, .source = {}, .error = {}};
  try {
    row.source = render(*row_);
    require(has_text(row.source), "the text is empty");
  } catch (const Error& error) {
    row.error = error.at(table_.where()).what();
  }
  row_.reset();
  return true;
}

TextTemplate::Rendered TextReader::render(const Row& row) const {
  if (options_.column.empty()) return options_.source.render(row);
  Row renamed;
  renamed.add(options_.source.fields().front(), row.text(options_.column));
  return options_.source.render(renamed);
}

bool TextReader::next_error(TextRow& row) {
  if (errors_.empty()) return false;
  row = {.number = ++rows_, .source = {}, .error = std::move(errors_.front())};
  errors_.pop_front();
  return true;
}

}  // namespace convseq
