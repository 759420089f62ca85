#include "bad_input.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <map>

#include "bad_input_folder.h"
#include "shell.h"

namespace convseq::testing {
namespace fs = std::filesystem;
namespace {

constexpr size_t kLongestLine = 600;
constexpr int kSeconds = 20;

// The program needs 0.3 GB, the sanitizers need address space without end.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr const char* kMemoryLimit = "unlimited";
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
constexpr const char* kMemoryLimit = "unlimited";
#else
constexpr const char* kMemoryLimit = "2000000";
#endif
#else
constexpr const char* kMemoryLimit = "2000000";
#endif

const BadInputFolder& folder() {
  static const BadInputFolder made;
  return made;
}

// What tells that an entry was made, written, replaced or removed. Of a folder only that it is
// there: a temporary file in it may come and go.
using Snapshot = std::map<std::string, std::string>;

std::string state_of(const fs::path& path) {
  struct stat found {};
  if (::lstat(path.c_str(), &found) != 0) return "gone";
  if (S_ISDIR(found.st_mode)) return "folder";
  return fmt::format("mode {:o}, inode {}, {} bytes, changed {}.{:09}", found.st_mode, found.st_ino,
                     found.st_size, found.st_ctim.tv_sec, found.st_ctim.tv_nsec);
}

// `predict` may have packed the weights of a model before it refuses the rest.
bool is_cache(const fs::path& path) { return path.filename().string().starts_with("packed-"); }

Snapshot snapshot(const fs::path& root) {
  Snapshot entries;
  for (const auto& entry : fs::recursive_directory_iterator(root)) {
    if (is_cache(entry.path())) continue;
    entries[entry.path().lexically_relative(root).string()] = state_of(entry.path());
  }
  return entries;
}

std::string difference(const Snapshot& before, const Snapshot& after) {
  std::string text;
  for (const auto& [name, state] : before) {
    if (!after.contains(name)) text += name + " is gone\n";
    if (after.contains(name) && after.at(name) != state) text += name + " has changed\n";
  }
  for (const auto& [name, state] : after) {
    if (!before.contains(name)) text += name + " was made\n";
  }
  return text;
}

struct Refusal {
  int exit_code = -1;
  std::string output;
  std::vector<std::string> errors;  // the lines of standard error
};

Refusal run(const BadInput& input) {
  static const TempFolder streams;
  const std::string output = (streams / "stdout").string(), errors = (streams / "stderr").string();
  const std::string command = fmt::format(
      "( cd '{}' && ulimit -d {} && {{ env -u CONVSEQ_DATA OMP_NUM_THREADS=1 "
      "ASAN_OPTIONS=detect_leaks=0 {} timeout -k 5 {} " CONVSEQ_PROGRAM
      " {}; }} </dev/null >{} 2>{} )",
      folder().path().string(), kMemoryLimit, input.environment, kSeconds, input.arguments, output,
      errors);
  const int exit_code = run_shell(command).exit_code;
  Refusal refusal{.exit_code = exit_code, .output = read_text_file(output), .errors = {}};
  std::string text = read_text_file(errors);
  std::replace(text.begin(), text.end(), '\r', '\n');  // progress
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    refusal.errors.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return refusal;
}

void expect_one_line(const BadInput& input, const std::vector<std::string>& lines) {
  if (lines.empty()) {
    ADD_FAILURE() << "nothing on standard error";
    return;
  }
  const std::string& message = lines.back();
  EXPECT_TRUE(message.starts_with("convseq: "));
  for (const std::string& each : input.named) {
    EXPECT_NE(message.find(each), message.npos) << "does not name " << each;
  }
  for (const std::string& line : lines) {
    EXPECT_LE(line.size(), kLongestLine);
    if (&line != &message) {
      EXPECT_FALSE(line.starts_with("convseq: ")) << "more than one";
    }
    for (const char* noise : {"frame #", "Exception raised", "terminate called", "LOG(", ".cc("}) {
      EXPECT_EQ(line.find(noise), line.npos) << noise;
    }
  }
}

}  // namespace

void expect_refused(const std::vector<BadInput>& cases) {
  Snapshot before = snapshot(folder().path());
  for (const BadInput& input : cases) {
    const Refusal refusal = run(input);
    std::string said;
    for (const std::string& line : refusal.errors) said += "\n  | " + line.substr(0, 700);
    SCOPED_TRACE(fmt::format("{} convseq {}{}", input.environment, input.arguments, said));
    EXPECT_EQ(refusal.exit_code, input.exit_code);
    expect_one_line(input, refusal.errors);
    if (!input.prints_before) {
      EXPECT_EQ(refusal.output.substr(0, 300), "");
    }
    if (!input.leaves.empty()) fs::remove_all(folder().path() / input.leaves);
    Snapshot after = snapshot(folder().path());
    EXPECT_EQ(difference(before, after), "");
    for (const auto& [name, state] : after) {  // the next case begins as this one did
      if (!before.contains(name)) fs::remove_all(folder().path() / name);
    }
    before = snapshot(folder().path());
  }
  fmt::print("{} cases of bad input\n", cases.size());
}

}  // namespace convseq::testing
