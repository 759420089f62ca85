#include "convseq/data/task/text_template.h"

#include "convseq/base/error.h"

namespace convseq {

TextTemplate::TextTemplate(std::string_view pattern) : pattern_(pattern), literals_(1) {
  for (size_t at = 0; at < pattern.size(); ++at) {
    const char c = pattern[at];
    if (c != '{' && c != '}') {
      literals_.back() += c;
    } else if (at + 1 < pattern.size() && pattern[at + 1] == c) {
      literals_.back() += c;
      ++at;
    } else {
      const size_t end = c == '{' ? pattern.find_first_of("{}", at + 1) : pattern.npos;
      require(end != pattern.npos && pattern[end] == '}' && end > at + 1,
              "the template \"{}\" has a {} that begins or ends no {{field}}; write {}{} for the "
              "character itself",
              pattern, c, c, c);
      fields_.emplace_back(pattern.substr(at + 1, end - at - 1));
      literals_.emplace_back();
      at = end;
    }
  }
}

TextTemplate::Rendered TextTemplate::render(const Row& row) const {
  Rendered rendered;
  for (size_t i = 0; i < fields_.size(); ++i) {
    rendered.text += literals_[i];
    const size_t begin = rendered.text.size();
    rendered.text += row.text(fields_[i]);
    rendered.spans.push_back({begin, rendered.text.size()});
  }
  rendered.text += literals_.back();
  return rendered;
}

}  // namespace convseq
