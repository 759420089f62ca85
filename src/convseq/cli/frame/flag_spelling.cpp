#include "convseq/cli/frame/flag_spelling.h"

#include <algorithm>
#include <map>

namespace convseq::cli {
namespace {

// Flags whose name is not that of the field.
const std::map<std::string, std::string, std::less<>> kFlags = {
    {"form", "--answer"},       {"by", "--answer"},          {"overrides", "--set"},
    {"pieces", "--vocabulary"}, {"resume=false", "--fresh"}, {"shown_share", "--shown-words"},
};

std::string flag_name(const OptionName& option) {
  const auto with_value = kFlags.find(option.name + "=" + option.value);
  if (with_value != kFlags.end()) return with_value->second;
  const auto found = kFlags.find(option.name);
  if (found != kFlags.end()) return found->second;
  std::string flag = (option.value == "false" ? "--no-" : "--") + option.name;
  std::replace(flag.begin(), flag.end(), '_', '-');
  return flag;
}

}  // namespace

std::string flag_of(const OptionName& option, const CLI::App& command) {
  const std::string flag = flag_name(option);
  const CLI::Option* declared = command.get_option_no_throw(flag);
  if (declared == nullptr) {
    return option.value.empty() ? option.name : option.name + "=" + option.value;
  }
  if (option.value == "true" || option.value == "false") return flag;
  if (!option.value.empty()) return flag + " " + option.value;
  const std::string variable = declared->get_envname();
  return variable.empty() ? flag : flag + " or " + variable;
}

std::string message_for(const Error& error, const CLI::App& command) {
  return error.message([&](const OptionName& option) { return flag_of(option, command); });
}

}  // namespace convseq::cli
