#include "convseq/data/io/line_writer.h"

#include <gtest/gtest.h>

#include "convseq/base/file/json_file.h"
#include "convseq/base/random.h"
#include "convseq/data/io/line_reader.h"
#include "temp_folder.h"

namespace convseq {
using testing::TempFolder;

namespace {

// Short lines, empty ones, and one that no compressor makes small.
std::vector<std::string> awkward_lines() {
  std::vector<std::string> lines = {"one", "", "three", std::string(300'000, 'x')};
  Random random(1);
  std::string noise;
  for (int i = 0; i < 300'000; ++i) noise += static_cast<char>('!' + random.below(90));
  lines.push_back(noise);
  lines.emplace_back("last");
  return lines;
}

void write_lines(const std::filesystem::path& path, const std::vector<std::string>& lines) {
  LineWriter writer(path);
  for (const std::string& line : lines) writer.write(line);
  writer.commit();
}

}  // namespace

TEST(LineWriter, WritesWhatLineReaderReads) {
  TempFolder folder;
  const auto lines = awkward_lines();
  for (const char* name : {"plain.txt", "packed.txt.gz"}) {
    write_lines(folder / name, lines);
    LineReader reader(folder / name);
    std::vector<std::string> read;
    for (std::string line; reader.next(line);) read.push_back(line);
    EXPECT_EQ(read, lines) << name;
  }
}

TEST(LineWriter, GivesTheSameBytesForTheSameLines) {
  TempFolder folder;
  write_lines(folder / "a.gz", awkward_lines());
  write_lines(folder / "b.gz", awkward_lines());
  EXPECT_EQ(read_text_file(folder / "a.gz"), read_text_file(folder / "b.gz"));
}

TEST(LineWriter, LeavesNothingWithoutCommit) {
  TempFolder folder;
  { LineWriter(folder / "a.gz").write("lost"); }
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST(LineWriter, PacksAnEmptyFile) {
  TempFolder folder;
  write_lines(folder / "a.gz", {});
  std::string line;
  EXPECT_FALSE(LineReader(folder / "a.gz").next(line));
}

}  // namespace convseq
