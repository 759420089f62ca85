#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "convseq/data/task/row.h"

namespace convseq {

// "sst2 sentence: {text}": text with the fields of a row put in; "{{" and "}}" stand for braces.
class TextTemplate {
 public:
  struct Span {  // where a field stands in the rendered text, in bytes
    size_t begin = 0, end = 0;
    bool operator==(const Span&) const = default;
  };
  struct Rendered {
    std::string text;
    std::vector<Span> spans;  // one per field of fields()
  };

  TextTemplate() = default;
  explicit TextTemplate(std::string_view pattern);  // an unmatched brace is an Error

  Rendered render(const Row& row) const;  // an Error names a field that the row does not have
  const std::vector<std::string>& fields() const { return fields_; }
  const std::string& pattern() const { return pattern_; }

 private:
  std::string pattern_;
  std::vector<std::string> fields_;
  std::vector<std::string> literals_;  // literals_[i] stands before fields_[i]; one more at the end
};

}  // namespace convseq
