#include "convseq/cli/frame/config_file.h"

#include <cctype>

#include "convseq/base/contains.h"
#include "convseq/base/nearest_name.h"
#include "convseq/cli/frame/command_table.h"
#include "convseq/text/split.h"

namespace convseq::cli {
namespace {

constexpr const char* kFlag = "--config";

std::string lower(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

// The names of an option in a config file; none for what no config file can set.
std::vector<std::string> keys_of(const CLI::Option& option) {
  std::vector<std::string> keys = option.get_lnames();
  if (keys.empty() && option.get_positional()) keys = {lower(option.get_name(true, false))};
  if (keys.empty() || keys[0] == "help" || keys[0] == "config" || keys[0] == "version") return {};
  return keys;
}

bool is_flag(const CLI::Option& option) { return option.get_items_expected_max() == 0; }

// One JSON object as CLI11's items of the command that was chosen.
class ObjectReader {
 public:
  ObjectReader(const CLI::App& command, const JsonObject& object)
      : command_(command), object_(object) {
    for (const CLI::App* each = &command; each->get_parent() != nullptr; each = each->get_parent())
      parents_.insert(parents_.begin(), each->get_name());
  }

  std::vector<CLI::ConfigItem> items() const {
    std::vector<CLI::ConfigItem> items;
    for (const auto& [key, value] : object_.json().items()) {
      const CLI::Option& option = find(key);
      std::vector<std::string> inputs =
          is_flag(option) ? flag_values(key, value) : values(key, value, option);
      if (inputs.empty()) continue;
      const bool named = !option.get_lnames().empty();
      items.push_back({.parents = parents_,
                       .name = named ? key : option.get_name(true, false),
                       .inputs = std::move(inputs)});
    }
    return items;
  }

 private:
  const CLI::Option& find(const std::string& key) const {
    std::vector<std::string> known;
    for (const CLI::Option* option : command_.get_options()) {
      for (const std::string& name : keys_of(*option)) {
        if (name == key) return *option;
        known.push_back(name);
      }
    }
    fail("{}: {} is not an option of {}{}", object_.origin(), brief_text(key), full_name(command_),
         did_you_mean(key, known));
  }

  std::vector<std::string> flag_values(const std::string& key, const Json& value) const {
    if (!value.is_boolean() && !value.is_null()) {
      object_.refuse(key, "is {}; allowed: true, false", brief_value(value));
    }
    return value == true ? std::vector<std::string>{"true"} : std::vector<std::string>{};
  }

  std::vector<std::string> values(const std::string& key, const Json& value,
                                  const CLI::Option& option) const {
    if (value.is_null()) return {};
    if (!value.is_array()) return {text_of(key, value)};
    if (option.get_items_expected_max() < 2) {
      object_.refuse(key, "is {}; allowed: one value", brief_value(value));
    }
    std::vector<std::string> texts;
    for (const Json& each : value) texts.push_back(text_of(key, each));
    return texts;
  }

  std::string text_of(const std::string& key, const Json& value) const {
    if (value.is_string()) return value.get<std::string>();
    if (!value.is_number()) {
      object_.refuse(key, "is {}; allowed: a string or a number", brief_value(value));
    }
    return value.dump();
  }

  const CLI::App& command_;
  const JsonObject& object_;
  std::vector<std::string> parents_;
};

class JsonConfig : public CLI::Config {
 public:
  explicit JsonConfig(const CLI::App& program) : program_(program) {}

  std::string to_config(const CLI::App* app, bool, bool, std::string) const override {
    return effective_options(*app).dump(2) + "\n";
  }
  std::vector<CLI::ConfigItem> from_config(std::istream& input) const override {
    const std::string text(std::istreambuf_iterator<char>(input), {});
    const std::string origin = program_.get_config_ptr()->as<std::string>();
    const JsonObject object(parse_json(text, origin), origin);
    return ObjectReader(chosen_command(program_), object).items();
  }

 private:
  const CLI::App& program_;
};

void declare(CLI::App& command) {
  const auto commands = command.get_subcommands([](CLI::App*) { return true; });
  for (CLI::App* sub : commands) declare(*sub);
  if (!commands.empty() || command.get_options().size() < 2) return;  // --help alone
  command
      .add_option_function<std::string>(
          kFlag, [](const std::string&) {},
          "JSON file of options; the command line takes precedence")
      ->type_name("FILE");
}

Json typed(const std::string& text, const OptionEntry& entry) {
  if (entry.takes_number() && entry.value != "SIZE") {
    const Json number = Json::parse(text, nullptr, false);
    if (number.is_number()) return number;
  }
  return text;
}

// What was given, else the default; nothing where there is neither.
std::vector<std::string> texts_of(const CLI::Option& option, const OptionEntry& entry) {
  if (option.count() > 0) return option.results();
  const bool conditional = !option.get_needs().empty() || !option.get_excludes().empty();
  if (entry.default_text.empty() || conditional) return {};
  if (!entry.list) return {entry.default_text};
  return split(entry.default_text, std::string(1, option.get_delimiter()));
}

}  // namespace

void add_config_option(CLI::App& program) {
  for (CLI::App* command : program.get_subcommands([](CLI::App*) { return true; })) {
    declare(*command);
  }
  program.config_formatter(std::make_shared<JsonConfig>(program));
  program.set_config(kFlag, "", "")->group("");  // the commands show their own
}

std::vector<std::string> with_config_first(const std::vector<std::string>& arguments) {
  std::vector<std::string> file, rest;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string& argument = arguments[i];
    const bool joined = argument.starts_with(std::string(kFlag) + "=");
    if (argument == "--") {
      rest.insert(rest.end(), arguments.begin() + static_cast<std::ptrdiff_t>(i), arguments.end());
      break;
    }
    if (!joined && argument != kFlag) {
      rest.push_back(argument);
      continue;
    }
    require(file.empty(), "--config is given twice; name one file");
    require(joined || i + 1 < arguments.size(), "--config needs the name of a JSON file");
    const std::string path =
        joined ? argument.substr(std::string(kFlag).size() + 1) : arguments[++i];
    read_text_file(path);  // throws our own error if it cannot be read
    file = {kFlag, path};
  }
  file.insert(file.end(), rest.begin(), rest.end());
  return file;
}

Json effective_options(const CLI::App& command, const std::vector<std::string>& only_if_given) {
  Json options = Json::object();
  for (const CLI::Option* option : command.get_options()) {
    const std::vector<std::string> keys = keys_of(*option);
    if (keys.empty()) continue;
    const bool conditional = contains(only_if_given, keys[0]);
    if (conditional && option->count() == 0) continue;
    if (is_flag(*option)) {
      const bool given =
          option->count() > 0 && option->results().back() == option->get_flag_value(keys[0], "");
      if (given) options[keys[0]] = true;
      continue;
    }
    const OptionEntry entry = describe_option(*option);
    const std::vector<std::string> texts = texts_of(*option, entry);
    if (texts.empty()) continue;
    if (!entry.list) {
      options[keys[0]] = typed(texts.back(), entry);
      continue;
    }
    Json list = Json::array();
    for (const std::string& text : texts) list.push_back(typed(text, entry));
    options[keys[0]] = list;
  }
  return options;
}

}  // namespace convseq::cli
