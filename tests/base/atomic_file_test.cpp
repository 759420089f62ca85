#include "convseq/base/file/atomic_file.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "convseq/base/error.h"
#include "convseq/base/file/json_file.h"
#include "convseq/base/file/mapped_file.h"
#include "temp_folder.h"

namespace convseq {
namespace fs = std::filesystem;
using testing::message_of;
using testing::TempFolder;

namespace {
size_t entries(const fs::path& folder) {
  return static_cast<size_t>(
      std::distance(fs::directory_iterator(folder), fs::directory_iterator{}));
}
}  // namespace

TEST(AtomicFile, ReplacesTheOldFileWhole) {
  TempFolder folder;
  const fs::path path = folder.file("a.txt", "old");
  write_file_atomically(path, "new text");
  EXPECT_EQ(read_text_file(path), "new text");
  EXPECT_EQ(entries(folder.path()), 1u);
}

TEST(AtomicFile, LeavesTheOldFileWhenNotCommitted) {
  TempFolder folder;
  const fs::path path = folder.file("a.txt", "old");
  {
    AtomicFile file(path);
    file.write("half of the new te");
  }
  EXPECT_EQ(read_text_file(path), "old");
  EXPECT_EQ(entries(folder.path()), 1u);
}

TEST(AtomicFile, NamesTheFileItCannotWrite) {
  const std::string message =
      message_of<Error>([] { write_file_atomically("/no/such/folder/x.json", "x"); });
  EXPECT_EQ(message, "/no/such/folder/x.json: cannot create: No such file or directory");
}

TEST(AtomicFile, SaysThatTheDiskIsFull) {
  if (!fs::exists("/dev/full")) GTEST_SKIP() << "no /dev/full here";
  TempFolder folder;
  // The temporary name leads to the device that is always full.
  fs::create_symlink("/dev/full", folder.path() / fmt::format("a.txt.convseq-tmp-{}", ::getpid()));
  const std::string message =
      message_of<Error>([&] { write_file_atomically(folder / "a.txt", "text"); });
  EXPECT_EQ(message, (folder / "a.txt").string() + ": cannot write: No space left on device");
  EXPECT_FALSE(fs::exists(folder / "a.txt"));
}

TEST(AtomicFolder, AppearsWholeAndReplacesWhole) {
  TempFolder folder;
  for (const char* version : {"one", "two"}) {
    write_folder_atomically(folder / "model/", [&](const fs::path& inside) {
      write_file_atomically(inside / version, version);
    });
    EXPECT_EQ(read_text_file(folder / "model" / version), version);
    EXPECT_EQ(entries(folder / "model"), 1u);
  }
  EXPECT_EQ(entries(folder.path()), 1u);
}

TEST(AtomicFolder, LeavesTheOldOneWhenFillingFails) {
  TempFolder folder;
  fs::create_directory(folder / "model");
  folder.file("model/old", "old");
  EXPECT_THROW(
      write_folder_atomically(folder / "model", [](const fs::path&) { fail("the disk is full"); }),
      Error);
  EXPECT_EQ(read_text_file(folder / "model" / "old"), "old");
  EXPECT_EQ(entries(folder.path()), 1u);
}

TEST(AtomicFolder, FillsTheFolderBehindALink) {
  TempFolder folder;
  fs::create_directory(folder / "real");
  fs::create_directory_symlink(folder / "real", folder / "link");
  write_folder_atomically(folder / "link", [](const fs::path& inside) {
    write_file_atomically(inside / "name", "new");
  });
  EXPECT_TRUE(fs::is_symlink(folder / "link"));
  EXPECT_EQ(read_text_file(folder / "real" / "name"), "new");
}

TEST(Unfinished, IsRemovedAnHourAfterItsWriterDied) {
  TempFolder folder;
  const pid_t dead = ::fork();
  if (dead == 0) ::_exit(0);
  ::waitpid(dead, nullptr, 0);
  const auto name = [](const char* file, pid_t writer) {
    return fmt::format("{}.convseq-tmp-{}", file, writer);
  };
  for (const pid_t writer : {dead, ::getpid()}) {
    folder.file(name("a", writer), "");
    folder.file(name("b", writer), "");
  }
  remove_abandoned(folder / "a");
  EXPECT_EQ(entries(folder.path()), 4u);  // the writer may be of another machine
  for (const pid_t writer : {dead, ::getpid()}) {
    fs::last_write_time(folder / name("a", writer),
                        fs::file_time_type::clock::now() - std::chrono::hours(2));
  }
  remove_abandoned(folder / "a");
  EXPECT_FALSE(fs::exists(folder / name("a", dead)));
  EXPECT_EQ(entries(folder.path()), 3u);
}

TEST(Unfinished, IsRemovedAndWhatWasAboutToBeReplacedComesBack) {
  TempFolder folder;
  for (const char* name : {"best.convseq-old-7", "last", "last.convseq-old-7", "last.convseq-tmp-7",
                           "mine.convseq-tmp-x", "mine.old-2024", "mine.tmp-1"}) {
    fs::create_directory(folder / name);
    folder.file(std::string(name) + "/name", name);
  }
  remove_unfinished(folder.path());
  EXPECT_EQ(read_text_file(folder / "best" / "name"), "best.convseq-old-7");
  EXPECT_EQ(read_text_file(folder / "last" / "name"), "last");
  for (const char* name : {"mine.convseq-tmp-x", "mine.old-2024", "mine.tmp-1"}) {
    EXPECT_TRUE(fs::exists(folder / name)) << name;
  }
  EXPECT_EQ(entries(folder.path()), 5u);
}

TEST(MappedFile, ShowsTheBytesAndRefusesFolders) {
  TempFolder folder;
  const MappedFile mapped(folder.file("a", "abc"));
  EXPECT_EQ(mapped.bytes().size(), 3u);
  EXPECT_EQ(mapped.bytes()[2], std::byte{'c'});
  EXPECT_EQ(MappedFile(folder.file("empty", "")).bytes().size(), 0u);
  EXPECT_EQ(message_of<Error>([&] { MappedFile m(folder.path()); }),
            folder.path().string() + ": not a regular file");
  EXPECT_EQ(message_of<Error>([&] { MappedFile m(folder / "none"); }),
            (folder / "none").string() + ": cannot open: No such file or directory");
}

}  // namespace convseq
