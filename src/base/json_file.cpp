#include "base/json_file.h"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <limits>
#include <set>
#include <sstream>

#include "base/atomic_file.h"

namespace convseq {

std::string read_text_file(const std::filesystem::path& path) {
  require(!std::filesystem::is_directory(path), "{}: is a folder, not a file", path.string());
  std::ifstream file(path, std::ios::binary);
  require(file.is_open(), "{}: cannot open: {}", path.string(), std::strerror(errno));
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

Json parse_json(std::string_view text, const std::string& origin) {
  std::vector<std::set<std::string>> open;  // the keys seen in each object we are inside of
  const auto refuse_repeated_keys = [&](int, Json::parse_event_t event, Json& parsed) {
    if (event == Json::parse_event_t::object_start) open.emplace_back();
    if (event == Json::parse_event_t::object_end) open.pop_back();
    if (event == Json::parse_event_t::key) {
      const std::string key = parsed.get<std::string>();
      require(open.back().insert(key).second, "{}: {} is given twice", origin, key);
    }
    return true;
  };
  try {
    return Json::parse(text.begin(), text.end(), refuse_repeated_keys);
  } catch (const Json::exception& error) {
    // "[json.exception.parse_error.101] parse error at line 3, column 5: …": keep what helps.
    const std::string_view what = error.what();
    const size_t bracket = what.find("] ");
    fail("{}: not JSON: {}", origin, bracket == what.npos ? what : what.substr(bracket + 2));
  }
}

Json read_json_file(const std::filesystem::path& path) {
  return parse_json(read_text_file(path), path.string());
}

void write_json_file(const std::filesystem::path& path, const Json& value) {
  write_file_atomically(path, value.dump(2) + "\n");
}

JsonObject::JsonObject(Json value, std::string origin)
    : value_(std::move(value)), origin_(std::move(origin)) {
  require(value_.is_object(), "{}: holds no JSON object", origin_);
}

JsonObject JsonObject::from_file(const std::filesystem::path& path) {
  return {read_json_file(path), path.string()};
}

void JsonObject::allow_only(const std::vector<std::string>& keys) const {
  for (const auto& [key, value] : value_.items()) {
    if (std::find(keys.begin(), keys.end(), key) == keys.end()) {
      refuse(key, "is no known key; allowed: {}", fmt::join(keys, ", "));
    }
  }
}

bool JsonObject::is_int64(const Json& value) {
  if (value.is_number_unsigned()) {
    return value.get<uint64_t>() <= uint64_t{std::numeric_limits<int64_t>::max()};
  }
  return value.is_number_integer();
}

}  // namespace convseq
