// What a command may write over: output files, output folders, and locks on them.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <thread>

#include "convseq/base/error.h"
#include "convseq/base/file/folder_lock.h"
#include "convseq/base/file/json_file.h"
#include "convseq/base/file/output_file.h"
#include "convseq/base/file/output_folder.h"
#include "temp_folder.h"

namespace convseq {
namespace fs = std::filesystem;
using testing::message_of;
using testing::TempFolder;

namespace {

void write_to(const fs::path& path, const std::string& text) {
  OutputFile file(path);
  file.write(text);
  file.commit();
}

std::string refusal(const fs::path& folder, FolderKind kind,
                    const OutputFolderOptions& options = {}) {
  return message_of<Error>([&] { check_output_folder(folder, kind, options); });
}

}  // namespace

TEST(OutputFile, FollowsALinkAndLeavesItALink) {
  TempFolder folder;
  const fs::path file = folder.file("file", "old"), link = folder / "link";
  fs::create_symlink("file", link);
  write_to(link, "new");
  EXPECT_TRUE(fs::is_symlink(link));
  EXPECT_EQ(read_text_file(file), "new");
  fs::create_symlink("later", folder / "dangling");
  write_to(folder / "dangling", "made");
  EXPECT_TRUE(fs::is_symlink(folder / "dangling"));
  EXPECT_EQ(read_text_file(folder / "later"), "made");
}

TEST(OutputFile, WritesDirectlyToAFifoAndToADevice) {
  TempFolder folder;
  const fs::path fifo = folder / "fifo";
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  std::string got;
  std::thread reader([&] { got = read_text_file(fifo); });
  write_to(fifo, "through");
  reader.join();
  EXPECT_EQ(got, "through");
  EXPECT_TRUE(fs::is_fifo(fifo));
  write_to("/dev/null", "gone");
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
  EXPECT_EQ(message_of<Error>([] { write_to("/dev/full", "x"); }),
            "/dev/full: cannot write: No space left on device");
}

TEST(OutputFile, RefusesAnInputAFolderAndAPlaceThatIsNotThere) {
  TempFolder folder;
  const fs::path data = folder.file("data.csv", "precious");
  fs::create_hard_link(data, folder / "same");
  for (const fs::path& path : {data, folder / "same"}) {
    EXPECT_EQ(message_of<Error>([&] { OutputFile file(path, {data}); }),
              path.string() + ": is read by this command; write to another file");
  }
  EXPECT_EQ(read_text_file(data), "precious");
  EXPECT_EQ(message_of<Error>([&] { OutputFile file(folder.path()); }),
            folder.path().string() + ": is a folder, not a file");
  EXPECT_EQ(message_of<Error>([&] { OutputFile file(folder / "none/x"); }),
            (folder / "none/x").string() + ": cannot create: No such file or directory");
}

TEST(OutputFile, LeavesWhatWasThereUntilItIsCommitted) {
  TempFolder folder;
  const fs::path path = folder.file("a", "old");
  {
    OutputFile file(path);
    file.write("half");
  }
  EXPECT_EQ(read_text_file(path), "old");
}

TEST(OutputFolder, IsNewOrEmpty) {
  TempFolder folder;
  fs::create_directory(folder / "empty");
  folder.file("empty/best.convseq-tmp-17", "left by a kill");
  for (const auto& [kind, name] : kEnumNames<FolderKind>) {
    EXPECT_EQ(refusal(folder / "new", kind), "") << name;
    EXPECT_EQ(refusal(folder / "empty", kind), "") << name;
  }
  EXPECT_EQ(refusal(folder.file("file", ""), FolderKind::Model),
            (folder / "file").string() + ": is a file, not a folder");
}

TEST(OutputFolder, GoesOnWithARunOrShardsAndReplacesTheRestOnlyWhenForced) {
  TempFolder folder;
  const auto with = [&](const std::string& name, const std::vector<std::string>& files) {
    fs::create_directory(folder / name);
    for (const std::string& file : files) folder.file(name + "/" + file, R"({"mixer": "light"})");
    return folder / name;
  };
  EXPECT_EQ(refusal(with("run", {"metrics.jsonl", "notes.txt"}), FolderKind::Run), "");
  EXPECT_EQ(refusal(with("shards", {"manifest.json"}), FolderKind::Shards), "");
  const fs::path model = with("model", {"config.json", "model.safetensors", "spiece.model"});
  EXPECT_EQ(
      refusal(model, FolderKind::Model),
      model.string() +
          ": holds a model folder already; choose another folder, or replace it with force=true");
  EXPECT_EQ(refusal(model, FolderKind::Model, {.force = true}), "");
  const fs::path tokenizer = with("tokenizer", {"spiece.model", "tokenizer_config.json"});
  EXPECT_NE(refusal(tokenizer, FolderKind::Tokenizer), "");
  EXPECT_EQ(refusal(tokenizer, FolderKind::Tokenizer, {.force = true}), "");
}

TEST(OutputFolder, NeverHoldsWhatIsNotOurs) {
  TempFolder folder;
  fs::create_directory(folder / "mine");
  folder.file("mine/model.safetensors", "x");
  const fs::path mine = folder / "mine";
  folder.file("mine/config.json", R"({"model_type": "t5"})");
  for (const FolderKind kind : {FolderKind::Model, FolderKind::Run, FolderKind::Shards}) {
    EXPECT_EQ(
        refusal(mine, kind, {.force = true}),
        fmt::format("{}: is not empty and no {} (it holds config.json); choose another folder",
                    mine.string(), name_of(kind)));
  }
  for (const FolderKind kind : {FolderKind::Corpus, FolderKind::Tasks}) {
    EXPECT_EQ(refusal(mine, kind, {.force = true}),
              mine.string() + ": is not empty (it holds config.json); choose another folder");
  }
  folder.file("mine/metrics.jsonl", "{}\n");
  EXPECT_NE(refusal(mine, FolderKind::Run), "");
  fs::create_directory(folder / "theirs");
  fs::create_directory(folder / "theirs/checkpoint-500");
  EXPECT_NE(refusal(folder / "theirs", FolderKind::Run).find("(it holds checkpoint-500)"),
            std::string::npos);
  folder.file("mine/config.json", R"({"mixer": "light"})");
  fs::create_directory(folder / "mine/checkpoint-00000004");
  EXPECT_NE(
      refusal(mine, FolderKind::Model, {.force = true}).find("(it holds checkpoint-00000004)"),
      std::string::npos);
}

TEST(OutputFolder, IsNeverWhatTheCommandReads) {
  TempFolder folder;
  fs::create_directories(folder / "all/t5");
  const fs::path input = folder / "all/t5";
  const auto with_input = [&](const fs::path& out) {
    return refusal(out, FolderKind::Model, {.force = true, .input = input});
  };
  EXPECT_NE(with_input(folder / "all/../all/t5/").find(": is what the command reads"),
            std::string::npos);
  EXPECT_NE(with_input(folder / "all").find(": holds "), std::string::npos);
  EXPECT_NE(with_input(input / "ours").find(": lies in "), std::string::npos);
  EXPECT_EQ(with_input(folder / "all/t5-ours"), "");
}

TEST(FolderLock, IsHeldByOneAndGoneWithIt) {
  TempFolder folder;
  {
    const FolderLock lock(folder.path());
    const std::string message = message_of<Error>([&] { FolderLock second(folder.path()); });
    EXPECT_EQ(message.find(fmt::format("{}: process {} on ", folder.path().string(), ::getpid())),
              0u)
        << message;
  }
  EXPECT_TRUE(fs::is_empty(folder.path()));
  folder.file(FolderLock::kFile, "left by a kill");
  const FolderLock again(folder.path());
}

}  // namespace convseq
