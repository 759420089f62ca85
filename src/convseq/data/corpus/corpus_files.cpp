#include "convseq/data/corpus/corpus_files.h"

#include <glob.h>

#include <algorithm>
#include <array>

#include "convseq/base/contains.h"
#include "convseq/base/error.h"
#include "convseq/base/log.h"
#include "convseq/data/io/byte_source.h"

namespace convseq {
namespace fs = std::filesystem;
namespace {

// "c4-validation.00000-of-00008.json.gz" contains the word "validation"; "contest.txt" does not
// contain the word "test".
bool names_held_out_data(const std::string& name) {
  static constexpr std::array<std::string_view, 5> kWords = {"validation", "valid", "val", "dev",
                                                             "test"};
  std::string word;
  const auto is_mark = [&] { return contains(kWords, word); };
  for (const char c : name) {
    const bool upper = c >= 'A' && c <= 'Z';
    if (upper || (c >= 'a' && c <= 'z')) {
      word += upper ? static_cast<char>(c - 'A' + 'a') : c;
      continue;
    }
    if (is_mark()) return true;
    word.clear();
  }
  return is_mark();
}

bool names_held_out_data(const fs::path& path) {
  return std::any_of(path.begin(), path.end(),
                     [](const fs::path& part) { return names_held_out_data(part.string()); });
}

std::vector<fs::path> files_in_folder(const fs::path& folder) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    const std::string form = uncompressed_extension(entry.path());
    if (form != ".json" && form != ".jsonl" && form != ".txt") continue;
    std::error_code no_file;  // a broken or circular link
    if (fs::is_regular_file(entry.path(), no_file)) files.push_back(entry.path());
    if (no_file) log::warning("{}: {}; left out", entry.path().string(), no_file.message());
  }
  return files;
}

bool has_wildcard(const std::string& text) { return text.find_first_of("*?[") != text.npos; }

std::vector<fs::path> files_that_match(const std::string& pattern) {
  ::glob_t found{};
  ::glob(pattern.c_str(), 0, nullptr, &found);
  std::vector<fs::path> files;
  for (const char* path : std::span(found.gl_pathv, found.gl_pathc)) {
    std::error_code no_file;  // a broken or circular link
    if (!has_wildcard(pattern) || fs::exists(path, no_file)) {
      files.emplace_back(path);
    } else {
      log::warning("{}: a broken link; left out", path);
    }
  }
  ::globfree(&found);
  return files;
}

// The folder in front of the first wildcard: "c4/en" of "c4/en/*.json.gz".
fs::path fixed_part(const fs::path& pattern) {
  fs::path fixed;
  for (const fs::path& part : pattern.parent_path()) {
    if (has_wildcard(part.string())) break;
    fixed /= part;
  }
  return fixed.empty() ? "." : fixed;
}

fs::path last_name(const fs::path& folder) {  // "en" of "c4/en/"
  return folder.has_filename() ? folder.filename() : folder.parent_path().filename();
}

// Names below `root` say what a file is for; `root` itself is what the user asked for.
void leave_out_held_out_files(std::vector<fs::path>& files, const fs::path& root,
                              const std::string& corpus) {
  std::vector<fs::path> kept;
  std::copy_if(files.begin(), files.end(), std::back_inserter(kept), [&](const fs::path& file) {
    return !names_held_out_data(file.lexically_relative(root));
  });
  if (kept.empty() || kept.size() == files.size()) return;
  const size_t left_out = files.size() - kept.size();
  log::info(
      "{}: {} validation or test file{} left out; to take {}, name the file, or a pattern that "
      "says so, such as '*validation*'",
      corpus, left_out, left_out == 1 ? "" : "s", left_out == 1 ? "it" : "them");
  files = std::move(kept);
}

}  // namespace

std::vector<fs::path> expand_corpus(const std::string& corpus, HeldOutFiles held_out) {
  std::error_code none;  // no such file: reported below
  if (corpus == "-" || fs::is_regular_file(corpus, none)) return {corpus};
  const bool folder = fs::is_directory(corpus, none);
  std::vector<fs::path> files = folder ? files_in_folder(corpus) : files_that_match(corpus);
  require(!files.empty(), "{}: {}", corpus,
          folder ? "the folder holds no .json, .jsonl or .txt file, plain or with .gz or .zst"
                 : "no such file");
  std::sort(files.begin(), files.end());
  if (held_out == HeldOutFiles::LeaveOut) {
    const fs::path root = folder ? fs::path(corpus) : fixed_part(corpus);
    const fs::path asked = folder ? last_name(corpus) : fs::path(corpus).lexically_relative(root);
    if (!names_held_out_data(asked)) leave_out_held_out_files(files, root, corpus);
  }
  return files;
}

}  // namespace convseq
