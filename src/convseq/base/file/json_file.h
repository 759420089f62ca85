#pragma once

#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "convseq/base/enum_names.h"
#include "convseq/base/error.h"

namespace convseq {

using Json = nlohmann::ordered_json;

std::string read_text_file(const std::filesystem::path& path);

// Refuses an object with a duplicate key, which is ambiguous. Untrusted text takes bounded time and
// stack: more than 100 levels, or more than 10,000 keys in one object, are refused too. `origin`, a
// path or a name for the source of the text, becomes the place of an Error.
Json parse_json(std::string_view text);
Json parse_json(std::string_view text, const std::string& origin);
Json read_json_file(const std::filesystem::path& path);
void write_json_file(const std::filesystem::path& path, const Json& value);

// A value, a text and a parser's message as part of an error: on one line, valid UTF-8, short.
std::string brief_value(const Json& value);
std::string brief_text(std::string_view text);
std::string not_json(const Json::exception& error);

// A JSON object whose errors name the file, the key, the value and what is allowed.
class JsonObject {
 public:
  JsonObject(Json value, std::string origin);
  static JsonObject from_file(const std::filesystem::path& path);

  const Json& json() const { return value_; }
  const std::string& origin() const { return origin_; }
  bool has(const std::string& key) const { return value_.contains(key); }
  std::vector<std::string> keys() const;
  JsonObject inner(const std::string& key) const;  // an empty one where the key is missing

  template <class T>
  T get(const std::string& key) const {
    if (!has(key)) refuse(key, "is missing");
    return convert<T>(key, value_.at(key));
  }

  template <class T>
  T get_or(const std::string& key, T fallback) const {
    return has(key) ? convert<T>(key, value_.at(key)) : fallback;
  }

  void allow_only(const std::vector<std::string>& keys) const;

  template <class... Args>
  [[noreturn]] void refuse(const std::string& key, fmt::format_string<Args...> why,
                           Args&&... args) const {
    throw Error(fmt::format("{} {}", key, fmt::format(why, std::forward<Args>(args)...)))
        .at(origin_);
  }

 private:
  template <class T>
  T convert(const std::string& key, const Json& found) const {
    if constexpr (NamedEnum<T>) {
      if (found.is_string()) {
        if (auto value = enum_from_name<T>(found.get<std::string>())) return *value;
      }
      refuse(key, "is {}; allowed: {}", brief_value(found), all_names<T>());
    } else if constexpr (std::is_same_v<T, bool>) {
      if (!found.is_boolean()) refuse(key, "is {}; allowed: true, false", brief_value(found));
      return found.get<bool>();
    } else if constexpr (std::is_integral_v<T>) {
      if (!is_int64(found)) refuse(key, "is {}; allowed: a whole number", brief_value(found));
      const auto value = found.get<int64_t>();
      if (!std::in_range<T>(value)) {
        using Limits = std::numeric_limits<T>;
        refuse(key, "is {}; allowed: {} to {}", value, Limits::min(), Limits::max());
      }
      return static_cast<T>(value);
    } else if constexpr (std::is_floating_point_v<T>) {
      if (!found.is_number()) refuse(key, "is {}; allowed: a number", brief_value(found));
      return found.get<T>();
    } else if constexpr (std::is_same_v<T, std::string>) {
      if (!found.is_string()) refuse(key, "is {}; allowed: a string", brief_value(found));
      return found.get<std::string>();
    } else {  // std::vector of one of the above
      if (!found.is_array()) refuse(key, "is {}; allowed: a list", brief_value(found));
      T items;
      for (const Json& item : found) items.push_back(convert<typename T::value_type>(key, item));
      return items;
    }
  }
  static bool is_int64(const Json& value);

  Json value_;
  std::string origin_;
};

}  // namespace convseq
