#include "convseq/runtime/weights/packed_weights.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <thread>

#include "convseq/base/error.h"
#include "convseq/base/file/json_file.h"
#include "temp_folder.h"

namespace convseq {
namespace fs = std::filesystem;
using testing::TempFolder;

namespace {

// Parts of different sizes, whose bytes are a function of the place; counts how often they are
// packed.
class Parts {
 public:
  explicit Parts(int seed = 1) {
    for (size_t i = 0; i < places_.size(); ++i) {
      const size_t bytes = i * 100;
      list.push_back({.bytes = bytes,
                      .pack =
                          [=, this](std::byte* to) {
                            ++packed;
                            for (size_t k = 0; k < bytes; ++k) to[k] = value(seed, i, k);
                          },
                      .use = [=, this](const std::byte* at) { places_[i] = at; }});
    }
  }
  Parts(const Parts&) = delete;
  Parts& operator=(const Parts&) = delete;

  bool are_right(int seed = 1) const {
    for (size_t i = 0; i < places_.size(); ++i) {
      if (reinterpret_cast<uintptr_t>(places_[i]) % kPackedAlignment != 0) return false;
      for (size_t k = 0; k < i * 100; ++k) {
        if (places_[i][k] != value(seed, i, k)) return false;
      }
    }
    return true;
  }

  std::vector<PackedPart> list;
  int packed = 0;

 private:
  static std::byte value(int seed, size_t part, size_t byte) {
    return static_cast<std::byte>(static_cast<size_t>(seed) * 31 + part * 7 + byte);
  }
  std::array<const std::byte*, 9> places_{};
};

// Whether the weights come from the file alone, and are right.
::testing::AssertionResult are_kept(const PackedFileOptions& options) {
  Parts parts;
  const PackedWeights weights(parts.list, options);
  if (!weights.is_mapped()) return ::testing::AssertionFailure() << "not mapped";
  if (parts.packed > 0) return ::testing::AssertionFailure() << "packed again";
  return parts.are_right() ? ::testing::AssertionSuccess() : ::testing::AssertionFailure();
}

::testing::AssertionResult are_packed_again(const PackedFileOptions& options) {
  Parts parts;
  const PackedWeights weights(parts.list, options);
  if (parts.packed != 9) return ::testing::AssertionFailure() << parts.packed << " parts packed";
  if (!parts.are_right()) return ::testing::AssertionFailure() << "wrong bytes";
  return are_kept(options);
}

TEST(PackedWeights, AreWrittenOnceAndMappedAfterwards) {
  TempFolder folder;
  const PackedFileOptions options{.path = folder / "packed.bin", .key = "one"};
  EXPECT_TRUE(are_packed_again(options));
  EXPECT_TRUE(are_kept(options));
  EXPECT_EQ(std::distance(fs::directory_iterator(folder.path()), {}), 1);
}

TEST(PackedWeights, OfAnotherKeyOrSizeArePackedAgain) {
  TempFolder folder;
  const PackedFileOptions one{.path = folder / "packed.bin", .key = "one"};
  const PackedFileOptions two{.path = folder / "packed.bin", .key = "two"};
  EXPECT_TRUE(are_packed_again(one));
  EXPECT_TRUE(are_packed_again(two));
  EXPECT_TRUE(are_packed_again(one));
  Parts fewer;
  fewer.list.pop_back();
  const PackedWeights weights(fewer.list, one);
  EXPECT_EQ(fewer.packed, 8);
  EXPECT_TRUE(are_packed_again(one));
}

TEST(PackedWeights, ThatAreDamagedArePackedAgain) {
  TempFolder folder;
  const PackedFileOptions options{.path = folder / "packed.bin", .key = "one"};
  EXPECT_TRUE(are_packed_again(options));
  const auto size = fs::file_size(options.path);
  for (const auto at : {uintmax_t{0}, uintmax_t{20}, uintmax_t{4095}, uintmax_t{4096}, size - 1}) {
    std::fstream file(options.path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekg(static_cast<std::streamoff>(at));
    const int byte = file.get();
    file.seekp(static_cast<std::streamoff>(at));
    file.put(static_cast<char>(byte ^ 1));
    file.close();
    EXPECT_TRUE(are_packed_again(options)) << "byte " << at;
  }
  for (const auto cut : {uintmax_t{0}, uintmax_t{100}, uintmax_t{4096}, size - 64}) {
    fs::resize_file(options.path, cut);
    EXPECT_TRUE(are_packed_again(options)) << "cut to " << cut;
  }
}

// Changes the text of a file's header; the checksum of the contents stays right.
void replace_in_header(const fs::path& path, const std::string& old_text, const std::string& text) {
  constexpr size_t kHeaderText = 4092;
  std::string file = read_text_file(path);
  const size_t at = file.find(old_text);
  ASSERT_LT(at, kHeaderText) << old_text;
  std::string header = file.substr(0, kHeaderText).replace(at, old_text.size(), text);
  header.resize(kHeaderText);
  std::ofstream(path, std::ios::binary) << header << file.substr(kHeaderText);
}

TEST(PackedWeights, WhoseHeaderClaimsOtherContentsArePackedAgain) {
  TempFolder folder;
  const PackedFileOptions options{.path = folder / "packed.bin", .key = "one"};
  EXPECT_TRUE(are_packed_again(options));
  const std::string bytes = fmt::format(", {} bytes", fs::file_size(options.path) - 4096);
  const std::vector<std::pair<std::string, std::string>> changes = {
      {"convseq", "convsec"},
      {"version ", "version 99"},
      {"version ", "version -"},
      {"9 parts", "8 parts"},
      {"9 parts", "0 parts"},
      {"9 parts", "18446744073709551625 parts"},
      {bytes, ", 0 bytes"},
      {bytes, ", 18446744073709551616 bytes"},
      {"one", "two"},
      {"one", "one\nmore"},
      {"one", std::string(5000, 'x')},
      {"one", std::string("one\0x", 5)}};
  for (const auto& [from, to] : changes) {
    replace_in_header(options.path, from, to);
    EXPECT_TRUE(are_packed_again(options)) << from << " -> " << to.substr(0, 40);
  }
}

TEST(PackedWeights, ArePackedInMemoryWhereNoFileCanBeWritten) {
  TempFolder folder;
  fs::create_directories(folder / "folder" / "not empty");
  // The folder of the file does not exist, or a folder has its name. (A read-only one would be
  // writable for root.)
  for (const fs::path& path : {fs::path(), folder / "missing" / "packed.bin", folder / "folder",
                               fs::path("/dev/full/x")}) {
    Parts parts;
    const PackedWeights weights(parts.list, {.path = path, .key = "one"});
    EXPECT_FALSE(weights.is_mapped());
    EXPECT_TRUE(parts.are_right());
  }
}

TEST(PackedWeights, ReplaceWhatIsNoRegularFile) {
  TempFolder folder;
  const auto packed = [&](const char* name) {
    return PackedFileOptions{.path = folder / name, .key = "one"};
  };
  fs::create_symlink("loop", folder / "loop");
  fs::create_symlink("missing", folder / "dangling");
  fs::create_symlink("/dev/full", folder / "full");
  ASSERT_EQ(::mkfifo((folder / "fifo").c_str(), 0600), 0);
  for (const char* name : {"loop", "dangling", "full", "fifo"}) {
    EXPECT_TRUE(are_packed_again(packed(name))) << name;
    EXPECT_TRUE(fs::is_regular_file(fs::symlink_status(folder / name))) << name;
  }
}

TEST(PackedWeights, ArePackedInMemoryWhereTheDiskIsFull) {
  TempFolder folder;
  const pid_t child = ::fork();
  if (child == 0) {  // no file may have more than 5000 bytes
    ::signal(SIGXFSZ, SIG_IGN);
    const struct rlimit limit { 5000, 5000 };
    ::setrlimit(RLIMIT_FSIZE, &limit);
    Parts parts;
    const PackedWeights weights(parts.list, {.path = folder / "packed.bin", .key = "one"});
    ::_exit(!weights.is_mapped() && parts.are_right() ? 0 : 1);
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(fs::is_empty(folder.path()));
}

TEST(PackedWeights, ReportWeightsThatCannotBePacked) {
  TempFolder folder;
  Parts parts;
  parts.list[3].pack = [](std::byte*) { fail("tensor x holds values that are not finite"); };
  EXPECT_THROW(PackedWeights(parts.list, {.path = folder / "packed.bin", .key = "one"}), Error);
  EXPECT_TRUE(fs::is_empty(folder.path()));
}

TEST(PackedWeights, CanBeWrittenByManyAtOnce) {
  TempFolder folder;
  const PackedFileOptions options{.path = folder / "packed.bin", .key = "one"};
  std::vector<pid_t> children;
  for (int i = 0; i < 3; ++i) {
    const pid_t child = ::fork();
    if (child == 0) {
      bool right = true;
      for (int round = 0; round < 20; ++round) {
        if (round % 5 == 0) fs::remove(options.path);
        Parts parts;
        const PackedWeights weights(parts.list, options);
        right = right && parts.are_right();
      }
      ::_exit(right ? 0 : 1);
    }
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = -1;
    ::waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      fs::remove(options.path);
      Parts parts;
      const PackedWeights weights(parts.list, options);
      EXPECT_TRUE(parts.are_right());
    });
  }
  for (auto& each : threads) each.join();
  EXPECT_TRUE(are_kept(options) || are_packed_again(options));
}

}  // namespace
}  // namespace convseq
