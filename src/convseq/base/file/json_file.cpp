#include "convseq/base/file/json_file.h"

#include <fstream>
#include <limits>
#include <set>
#include <vector>

#include "convseq/base/contains.h"
#include "convseq/base/file/atomic_file.h"
#include "convseq/base/file/system_error.h"
#include "convseq/base/nearest_name.h"
#include "convseq/base/utf8.h"

namespace convseq {
namespace {

constexpr int kMaxDepth = 100;
constexpr size_t kMaxKeys = 10'000;  // the ordered object looks for each new key among all others
constexpr size_t kMaxBrief = 80;
constexpr size_t kMaxComplaint = 200;

std::string cut_short(std::string text, size_t limit) {
  if (text.size() <= limit) return text;
  return std::string(utf8_prefix(text, limit)) + "…";
}

}  // namespace

std::string read_text_file(const std::filesystem::path& path) {
  require(!std::filesystem::is_directory(path), "{}: is a folder, not a file", path.string());
  std::ifstream file(path, std::ios::binary);
  if (!file.is_open()) fail_to("open", path);
  std::string text;
  std::vector<char> block(1 << 16);
  do {
    file.read(block.data(), std::ssize(block));
    text.append(block.data(), static_cast<size_t>(file.gcount()));
  } while (file);
  if (file.bad()) fail_to("read", path);
  return text;
}

Json parse_json(std::string_view text, const std::string& origin) try {
  return parse_json(text);
} catch (const Error& error) {
  throw error.at(origin);
}

Json parse_json(std::string_view text) {
  // To the parser a zero byte is the end of the text, whatever follows.
  require(text.find('\0') == text.npos, "not JSON: holds a zero byte");
  std::vector<std::set<std::string>> open;  // the keys seen in each object we are inside of
  const auto check = [&](int depth, Json::parse_event_t event, Json& parsed) {
    require(depth < kMaxDepth, "nested deeper than {} levels", kMaxDepth);
    if (event == Json::parse_event_t::object_start) open.emplace_back();
    if (event == Json::parse_event_t::object_end) open.pop_back();
    if (event == Json::parse_event_t::key) {
      const auto& key = parsed.get_ref<const std::string&>();
      if (!open.back().insert(key).second) fail("{} is given twice", brief_text(key));
      require(open.back().size() <= kMaxKeys, "over {} keys in one object", kMaxKeys);
    }
    return true;
  };
  try {
    return Json::parse(text.begin(), text.end(), check);
  } catch (const Json::exception& error) {
    fail("{}", not_json(error));
  }
}

Json read_json_file(const std::filesystem::path& path) {
  return parse_json(read_text_file(path), path.string());
}

void write_json_file(const std::filesystem::path& path, const Json& value) {
  write_file_atomically(path, value.dump(2) + "\n");
}

std::string brief_value(const Json& value) {
  return cut_short(value.dump(-1, ' ', false, Json::error_handler_t::replace), kMaxBrief);
}

std::string brief_text(std::string_view text) {
  // Escaped as in JSON, without the quotes.
  const std::string quoted =
      Json(text.substr(0, kMaxBrief + 1)).dump(-1, ' ', false, Json::error_handler_t::replace);
  return cut_short(quoted.substr(1, quoted.size() - 2), kMaxBrief);
}

std::string not_json(const Json::exception& error) {
  // "[json.exception.parse_error.101] parse error at line 3, column 5: syntax error …; last read:
  // '…'": keep what helps, without the text itself.
  std::string_view what = error.what();
  const size_t bracket = what.find("] ");
  if (bracket != what.npos) what.remove_prefix(bracket + 2);
  what = what.substr(0, what.find("; last read"));
  return cut_short(fmt::format("not JSON: {}", what), kMaxComplaint);
}

JsonObject::JsonObject(Json value, std::string origin)
    : value_(std::move(value)), origin_(std::move(origin)) {
  if (!value_.is_object()) throw Error("holds no JSON object").at(origin_);
}

JsonObject JsonObject::from_file(const std::filesystem::path& path) {
  return {read_json_file(path), path.string()};
}

std::vector<std::string> JsonObject::keys() const {
  std::vector<std::string> keys;
  for (const auto& item : value_.items()) keys.push_back(item.key());
  return keys;
}

JsonObject JsonObject::inner(const std::string& key) const {
  return {has(key) ? value_.at(key) : Json::object(), origin_ + ": " + key};
}

void JsonObject::allow_only(const std::vector<std::string>& keys) const {
  for (const auto& [key, value] : value_.items()) {
    if (!contains(keys, key)) {
      refuse(brief_text(key), "is no known key; allowed: {}{}", fmt::join(keys, ", "),
             did_you_mean(key, keys));
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
