#include "convseq/data/corpus/document_reader.h"

#include "convseq/base/file/json_file.h"
#include "convseq/data/io/json_line.h"

namespace convseq {
namespace fs = std::filesystem;

DocumentReader::DocumentReader(std::vector<fs::path> files, DocumentReaderOptions options,
                               DocumentPlace start)
    : files_(std::move(files)),
      options_(std::move(options)),
      opened_(static_cast<size_t>(start.file)) {
  for (const fs::path& file : files_) form_of(file);
  if (start.line > 0 && open_next_file()) lines_->skip(start.line);
}

DocumentPlace DocumentReader::place_after() const {
  return {.file = static_cast<int64_t>(file_index()), .line = lines_->line_number()};
}

DocumentReader::Form DocumentReader::form_of(const fs::path& file) {
  if (file == "-") return Form::AsItBegins;
  const std::string form = uncompressed_extension(file);
  if (form == ".json" || form == ".jsonl") return Form::JsonLines;
  if (form == ".txt") return Form::Text;
  fail("{}: not a form of corpus; allowed: .json, .jsonl, .txt, each also with .gz or .zst",
       file.string());
}

bool DocumentReader::next(std::string& text) {
  while (lines_ || open_next_file()) {
    if (next_in_file(text)) return true;
    if (lines_->line_number() == blank_lines_) lines_->report(Error("the file holds no document"));
    lines_.reset();
  }
  return false;
}

bool DocumentReader::open_next_file() {
  if (opened_ == files_.size()) return false;
  const fs::path& file = files_[opened_++];
  lines_.emplace(file, options_.lines);
  form_ = form_of(file);
  blank_lines_ = 0;
  return true;
}

bool DocumentReader::next_in_file(std::string& text) {
  while (lines_->next(line_)) {
    if (is_blank(line_)) {
      ++blank_lines_;
      continue;
    }
    if (form_ == Form::AsItBegins) form_ = line_.starts_with('{') ? Form::JsonLines : Form::Text;
    if (form_ == Form::Text) {
      text.swap(line_);
      return true;
    }
    if (take_text_field(text)) return true;
  }
  return false;
}

bool DocumentReader::take_text_field(std::string& text) {
  try {
    Json object = parse_json_line(line_);
    require(object.contains(options_.field), "has no field {}", options_.field);
    Json& value = object[options_.field];
    require(value.is_string(), "the field {} is no text", options_.field);
    text = std::move(value.get_ref<std::string&>());
    return true;
  } catch (const Error& error) {
    lines_->report(error);
    return false;
  }
}

}  // namespace convseq
