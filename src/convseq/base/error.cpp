#include "convseq/base/error.h"

namespace convseq {
namespace {

// The marks of an option within the text of an error; no message holds them otherwise.
constexpr char kBegin = '\x01', kValue = '\x02', kEnd = '\x03';

std::string plain_name(const OptionName& option) {
  return option.value.empty() ? option.name : option.name + "=" + option.value;
}

std::string spelled(std::string_view text, const OptionSpelling& spell) {
  std::string result;
  while (true) {
    const size_t begin = text.find(kBegin), value = text.find(kValue, begin),
                 end = text.find(kEnd, value);
    if (end == text.npos) return result.append(text);
    result += text.substr(0, begin);
    OptionName option(text.substr(begin + 1, value - begin - 1));
    option.value = text.substr(value + 1, end - value - 1);
    result += spell(option);
    text.remove_prefix(end + 1);
  }
}

std::string in_one_line(const std::string& where, const std::string& problem) {
  return where.empty() ? problem : where + ": " + problem;
}

}  // namespace

std::string marked(const OptionName& option) {
  return fmt::format("{}{}{}{}{}", kBegin, option.name, kValue, option.value, kEnd);
}

Error::Error(std::string problem, Cause cause, std::string where)
    : std::runtime_error(spelled(in_one_line(where, problem), plain_name)),
      where_(std::move(where)),
      problem_(std::move(problem)),
      cause_(cause) {}

std::string Error::problem() const { return spelled(problem_, plain_name); }

std::string Error::message(const OptionSpelling& spell) const {
  return in_one_line(where_, spelled(problem_, spell));
}

Error Error::at(std::string_view place) const {
  return Error(problem_, cause_, fmt::format("{}{}{}", place, where_.empty() ? "" : ": ", where_));
}

Error Error::with(std::string_view more) const {
  return Error(fmt::format("{}; {}", problem_, more), cause_, where_);
}

}  // namespace convseq
