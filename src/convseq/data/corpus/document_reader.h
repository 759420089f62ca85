#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "convseq/data/corpus/corpus_files.h"
#include "convseq/data/io/line_reader.h"

namespace convseq {

struct DocumentReaderOptions {
  std::string field = "text";  // of a JSON line that holds the text
  LineReaderOptions lines;
};

// A position between two documents: after the first `line` lines of file number `file`.
struct DocumentPlace {
  int64_t file = 0;
  int64_t line = 0;
  bool operator==(const DocumentPlace&) const = default;
};

// The documents of several files: C4's JSON lines (.json, .jsonl) or plain text with one document
// per line (.txt), each also with .gz or .zst; standard input is JSON lines where it begins with
// "{". Blank lines are skipped; a file without any document is reported like a bad line.
class DocumentReader {
 public:
  explicit DocumentReader(std::vector<std::filesystem::path> files,
                          DocumentReaderOptions options = {}, DocumentPlace start = {});

  bool next(std::string& text);  // false at the end of the last file

  // Of the last document:
  size_t file_index() const { return opened_ - 1; }
  DocumentPlace place_after() const;
  int64_t file_position() const { return lines_->file_position(); }  // in bytes of the file

 private:
  enum class Form { JsonLines, Text, AsItBegins };
  static Form form_of(const std::filesystem::path& file);
  bool open_next_file();
  bool next_in_file(std::string& text);
  bool take_text_field(std::string& text);

  std::vector<std::filesystem::path> files_;
  DocumentReaderOptions options_;
  size_t opened_ = 0;
  std::optional<LineReader> lines_;
  Form form_ = Form::AsItBegins;
  int64_t blank_lines_ = 0;
  std::string line_;
};

}  // namespace convseq
