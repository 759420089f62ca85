#include "convseq/study/data_digests.h"

#include "convseq/base/contains.h"
#include "convseq/base/file/sha256.h"
#include "convseq/data/corpus/corpus_files.h"

namespace convseq {
namespace fs = std::filesystem;

namespace {
constexpr std::string_view kMissing = "missing: ";
}  // namespace

DataDigests::DataDigests(fs::path cache) : cache_(std::move(cache)) {
  if (cache_.empty() || !fs::exists(cache_)) return;
  try {
    known_ = JsonObject::from_file(cache_).json();
  } catch (const Error&) {
    known_ = Json::object();  // a damaged cache costs only time
  }
}

std::string DataDigests::note_missing(const std::string& what) {
  if (!contains(missing_, what)) missing_.push_back(what);
  return std::string(kMissing) + what;
}

std::string DataDigests::of(const fs::path& file) {
  std::error_code error;
  const auto size = fs::file_size(file, error);
  if (error) return note_missing(file.string());
  const auto changed = fs::last_write_time(file, error).time_since_epoch().count();
  const std::string stamp = fmt::format("{} {}", size, changed);
  const std::string key = fs::absolute(file).lexically_normal().string();
  if (const auto found = known_.find(key); found != known_.end() && found->is_array() &&
                                           found->size() == 2 && found->at(0) == stamp &&
                                           found->at(1).is_string()) {
    return found->at(1).get<std::string>();
  }
  const std::string digest = sha256_of_file(file);
  known_[key] = {stamp, digest};
  changed_ = true;
  return digest;
}

std::vector<std::string> DataDigests::of_corpus(const std::string& pattern) {
  std::vector<std::string> digests;
  try {
    for (const fs::path& file : expand_corpus(pattern)) digests.push_back(of(file));
  } catch (const Error&) {
    return {note_missing(pattern)};
  }
  return digests;
}

void DataDigests::save() const {
  if (changed_ && !cache_.empty()) write_json_file(cache_, known_);
}

std::optional<std::string> missing_file_in(const Json& inputs) {
  if (inputs.is_string()) {
    const auto& text = inputs.get_ref<const std::string&>();
    return text.starts_with(kMissing) ? std::optional(text.substr(kMissing.size())) : std::nullopt;
  }
  if (!inputs.is_structured()) return std::nullopt;
  for (const Json& inner : inputs) {
    if (auto found = missing_file_in(inner)) return found;
  }
  return std::nullopt;
}

}  // namespace convseq
