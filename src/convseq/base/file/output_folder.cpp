#include "convseq/base/file/output_folder.h"

#include <algorithm>
#include <string>
#include <vector>

#include "convseq/base/error.h"
#include "convseq/base/file/atomic_file.h"
#include "convseq/base/file/folder_lock.h"
#include "convseq/base/file/json_file.h"
#include "convseq/base/file/system_error.h"

namespace convseq {
namespace fs = std::filesystem;
namespace {

// A '*' stands for any text.
bool matches(std::string_view name, std::string_view pattern) {
  const size_t star = pattern.find('*');
  if (star == pattern.npos) return name == pattern;
  const std::string_view begin = pattern.substr(0, star), end = pattern.substr(star + 1);
  return name.size() >= begin.size() + end.size() && name.starts_with(begin) && name.ends_with(end);
}

// Synthetic corpora and tasks have none: they are only written to new folders.
struct Marks {
  std::vector<std::string_view> one_of;  // at least one of them identifies the kind
  std::vector<std::string_view> others;  // may exist beside it
};

const Marks& marks_of(FolderKind kind) {
  static const Marks model{{"model.safetensors"},
                           {"config.json", "spiece.model", "tokenizer_config.json", "task.json",
                            "calibration.json", "packed-*.bin"}};
  static const Marks run{{"metrics.jsonl", "options.json"}, {}};
  static const Marks tokenizer{{"spiece.model"}, {"tokenizer_config.json"}};
  static const Marks shards{{"manifest.json", "*.tokens"}, {}};
  static const Marks synthetic{};
  switch (kind) {
    case FolderKind::Model:
      return model;
    case FolderKind::Run:
      return run;
    case FolderKind::Tokenizer:
      return tokenizer;
    case FolderKind::Shards:
      return shards;
    case FolderKind::Corpus:
    case FolderKind::Tasks:
      return synthetic;
  }
  return synthetic;
}

bool any_matches(const std::string& name, const std::vector<std::string_view>& patterns) {
  return std::any_of(patterns.begin(), patterns.end(),
                     [&](std::string_view pattern) { return matches(name, pattern); });
}

// The entries of a folder, except its lock and the unfinished files of a killed process.
std::vector<std::string> names_in(const fs::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if (!is_unfinished(name) && name != FolderLock::kFile) names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

bool continues(FolderKind kind) { return kind == FolderKind::Run || kind == FolderKind::Shards; }

// A Hugging Face model has the same files as ours, but no mixer in its config.
bool is_foreign_model(const fs::path& folder, FolderKind kind) {
  const fs::path config = folder / "config.json";
  const bool has_model = kind == FolderKind::Model || kind == FolderKind::Run;
  if (!has_model || !fs::exists(config)) return false;
  const Json json = read_json_file(config);
  return !json.is_object() || !json.contains("mixer");
}

bool is_below(const fs::path& inner, const fs::path& outer) {
  const auto [end, rest] = std::mismatch(outer.begin(), outer.end(), inner.begin(), inner.end());
  return end == outer.end();
}

void refuse_input(const fs::path& folder, const fs::path& input) {
  std::error_code error;
  const fs::path ours = fs::weakly_canonical(fs::absolute(folder, error), error);
  if (error) return;
  const fs::path theirs = fs::weakly_canonical(fs::absolute(input, error), error);
  if (error) return;
  require(ours != theirs, "{}: is what the command reads; write to another folder",
          folder.string());
  require(!is_below(theirs, ours), "{}: holds {}, which the command reads; write to another folder",
          folder.string(), input.string());
  require(!is_below(ours, theirs),
          "{}: lies in {}, which the command reads; write to another folder", folder.string(),
          input.string());
}

}  // namespace

void check_output_folder(const fs::path& folder, FolderKind kind,
                         const OutputFolderOptions& options) {
  require(!folder.empty(), "the output folder has no name");
  if (!options.input.empty()) refuse_input(folder, options.input);
  std::error_code error;
  const fs::file_status status = fs::status(folder, error);
  if (status.type() == fs::file_type::none) fail_to("create", folder, error.value());
  if (!fs::exists(status)) return;
  require(fs::is_directory(status), "{}: is a file, not a folder", folder.string());
  const std::vector<std::string> names = names_in(folder);
  if (names.empty()) return;

  const Marks& marks = marks_of(kind);
  const bool same_kind =
      std::any_of(names.begin(), names.end(),
                  [&](const std::string& name) { return any_matches(name, marks.one_of); }) &&
      !is_foreign_model(folder, kind);
  if (same_kind && continues(kind)) return;
  const auto foreign = std::find_if(names.begin(), names.end(), [&](const std::string& name) {
    return !any_matches(name, marks.one_of) && !any_matches(name, marks.others);
  });
  require(!marks.one_of.empty(), "{}: is not empty (it holds {}); choose another folder",
          folder.string(), names.front());
  require(same_kind && foreign == names.end(),
          "{}: is not empty and no {} (it holds {}); choose another folder", folder.string(),
          name_of(kind), foreign == names.end() ? names.front() : *foreign);
  require(options.force, "{}: holds a {} already; choose another folder, or replace it with {}",
          folder.string(), name_of(kind), OptionName("force", true));
}

}  // namespace convseq
