#include "convseq/data/io/line_reader.h"

#include <gtest/gtest.h>

#include "compressed.h"
#include "convseq/base/error.h"
#include "convseq/base/random.h"
#include "temp_folder.h"

namespace convseq {
using testing::gzip;
using testing::message_of;
using testing::TempFolder;
using testing::zstd;

namespace {

std::vector<std::string> lines_of(const std::filesystem::path& path,
                                  LineReaderOptions options = {}) {
  LineReader reader(path, options);
  std::vector<std::string> lines;
  for (std::string line; reader.next(line);) lines.push_back(line);
  return lines;
}

// Hardly compressible, so that a broken place stands in the middle of a stream.
std::string random_lines(int count) {
  Random random(5);
  std::string text;
  for (int i = 0; i < count; ++i) text += fmt::format("{} {:x}\n", i, random.bits64());
  return text;
}

}  // namespace

TEST(LineReader, ReadsLinesWhateverEndsThem) {
  TempFolder folder;
  const std::vector<std::string> expected = {"one", "", "three é"};
  EXPECT_EQ(lines_of(folder.file("unix", "one\n\nthree é\n")), expected);
  EXPECT_EQ(lines_of(folder.file("dos", "one\r\n\r\nthree é\r\n")), expected);
  EXPECT_EQ(lines_of(folder.file("open", "one\n\nthree é")), expected);
  EXPECT_EQ(lines_of(folder.file("mark", "\xEF\xBB\xBFone\n\nthree é\n")), expected);
  EXPECT_TRUE(lines_of(folder.file("empty", "")).empty());
}

TEST(LineReader, ReadsCompressedFilesAlsoInSeveralParts) {
  TempFolder folder;
  const std::string text = random_lines(30'000);
  const auto expected = lines_of(folder.file("plain.txt", text));
  ASSERT_EQ(expected.size(), 30'000u);
  const std::string head = text.substr(0, 333'333), tail = text.substr(333'333);
  EXPECT_EQ(lines_of(folder.file("a.gz", gzip(text))), expected);
  EXPECT_EQ(lines_of(folder.file("b.gz", gzip(head) + gzip("") + gzip(tail))), expected);
  EXPECT_EQ(lines_of(folder.file("a.zst", zstd(text))), expected);
  EXPECT_EQ(lines_of(folder.file("b.zst", zstd(head) + zstd("") + zstd(tail))), expected);
  const std::string skipped("\x50\x2A\x4D\x18\x03\x00\x00\x00pad", 11);  // as pzstd writes them
  EXPECT_EQ(lines_of(folder.file("c.zst", skipped + zstd(head) + skipped + zstd(tail))), expected);
  EXPECT_EQ(lines_of(folder.file("unnamed", gzip(text))), expected) << "told by the first bytes";
}

// A gzip member whose header carries a file name so long that the whole has `bytes` bytes.
std::string padded_gzip(const std::string& text, size_t bytes) {
  constexpr size_t kHeader = 10, kFlags = 3;
  std::string packed = gzip(text);
  packed[kFlags] = 0x08;  // a name follows the header
  const size_t name = bytes - packed.size() - 1;
  return packed.insert(kHeader, std::string(name, 'n') + '\0');
}

TEST(LineReader, LosesNothingWhereAGzipMemberBeginsOnTheLastByteOfABuffer) {
  TempFolder folder;
  constexpr size_t kBufferBytes = 256 << 10;
  const std::vector<std::string> expected = {"one", "two", "three"};
  for (const size_t first : {kBufferBytes, 2 * kBufferBytes}) {
    for (int shift = -20; shift <= 20; ++shift) {
      const size_t bytes = first + static_cast<size_t>(shift);
      const auto path =
          folder.file("a.gz", padded_gzip("one\n", bytes) + padded_gzip("two\n", kBufferBytes) +
                                  gzip("three\n"));
      ASSERT_EQ(lines_of(path), expected) << bytes;
    }
  }
}

TEST(LineReader, CountsLines) {
  TempFolder folder;
  LineReader reader(folder.file("a.txt", "x\ny\n"));
  std::string line;
  EXPECT_TRUE(reader.next(line));
  EXPECT_TRUE(reader.next(line));
  EXPECT_EQ(reader.where(), (folder / "a.txt").string() + ":2");
  EXPECT_FALSE(reader.next(line));
  EXPECT_FALSE(reader.next(line));
  EXPECT_EQ(reader.line_number(), 2);
}

struct Broken {
  std::string name;
  std::string bytes;
  std::string problem;
};

TEST(LineReader, NamesTheLineWhereACompressedStreamBreaks) {
  TempFolder folder;
  const std::string text = random_lines(30'000);
  const std::string packed_gzip = gzip(text), packed_zstd = zstd(text);
  std::string flipped = packed_gzip;
  flipped[flipped.size() / 2] ^= 0x55;
  std::string wrong_sum = packed_gzip;
  wrong_sum[wrong_sum.size() - 6] ^= 0x01;
  for (const Broken& broken :
       {Broken{"cut.gz", packed_gzip.substr(0, packed_gzip.size() / 2), "ends too early"},
        Broken{"flipped.gz", flipped, "the gzip stream is broken"},
        Broken{"sum.gz", wrong_sum, "the gzip stream is broken: incorrect data check"},
        Broken{"tail.gz", packed_gzip + "tail", "the gzip stream is followed by something else"},
        Broken{"cut.zst", packed_zstd.substr(0, packed_zstd.size() / 2), "ends too early"},
        Broken{"tail.zst", packed_zstd + "tail", "the zstd stream is broken"}}) {
    const auto path = folder.file(broken.name, broken.bytes);
    LineReader reader(path);
    int64_t read = 0;
    const std::string message = message_of<Error>([&] {
      for (std::string line; reader.next(line);) ++read;
    });
    EXPECT_EQ(message.find(fmt::format("{}:{}: ", path.string(), read + 1)), 0u) << message;
    EXPECT_NE(message.find(broken.problem), message.npos) << message;
    EXPECT_GT(read, 0) << broken.name;

    BadLines skipped(OnBadLine::Skip);
    EXPECT_EQ(lines_of(path, {.bad_lines = &skipped}).size(), static_cast<size_t>(read));
    EXPECT_EQ(skipped.skipped(), 1);
    EXPECT_EQ(skipped.summary(), "1 bad line skipped, the first: " + message);
  }
}

TEST(LineReader, RefusesAFileThatIsNotWhatItsNameSays) {
  TempFolder folder;
  const auto message = [&](const std::string& name, const std::string& bytes) {
    const auto path = folder.file(name, bytes);
    return message_of<Error>([&] { LineReader reader(path); }).substr(path.string().size());
  };
  EXPECT_EQ(message("a.gz", "plain"), ": is not gzip");
  EXPECT_EQ(message("b.gz", ""), ": is not gzip");
  EXPECT_EQ(message("a.zst", gzip("x")), ": is not zstd");
  EXPECT_EQ(message_of<Error>([&] { LineReader reader(folder.path()); }),
            folder.path().string() + ": is a folder, not a file");
}

TEST(LineReader, NamesTheByteThatIsNotUtf8) {
  TempFolder folder;
  const auto path = folder.file("a.txt", "good\nb\xC3(d\nalso good\n");
  const std::string problem = path.string() + ":2: not UTF-8: byte 2 of the line is 0xC3";
  EXPECT_EQ(message_of<Error>([&] { lines_of(path); }), problem);

  BadLines skipped(OnBadLine::Skip);
  EXPECT_EQ(lines_of(path, {.bad_lines = &skipped}),
            (std::vector<std::string>{"good", "also good"}));
  EXPECT_EQ(skipped.summary(), "1 bad line skipped, the first: " + problem);
}

TEST(LineReader, RefusesALineOf50MegabytesInBoundedMemory) {
  TempFolder folder;
  const auto path =
      folder.file("long.txt.gz", gzip("first\n" + std::string(50'000'000, 'x') + "\nlast\n"));
  const std::string problem = path.string() + ":2: a line of more than 16777216 bytes";
  EXPECT_EQ(message_of<Error>([&] { lines_of(path); }), problem);

  BadLines skipped(OnBadLine::Skip);
  LineReader reader(path, {.bad_lines = &skipped});
  std::string line;
  EXPECT_TRUE(reader.next(line));
  EXPECT_TRUE(reader.next(line));
  EXPECT_EQ(line, "last");
  EXPECT_LE(line.capacity(), 2u * 16'777'216) << "the line is all that a reader holds but a buffer";
  EXPECT_EQ(skipped.summary(), "1 bad line skipped, the first: " + problem);

  EXPECT_EQ(lines_of(path, {.max_line_bytes = 50'000'000})[1].size(), 50'000'000u);
}

TEST(BadLines, GivesThemToAHandlerAndGoesOn) {
  TempFolder folder;
  const auto path = folder.file("a.txt", "good\nb\xC3(d\nalso good\n");
  std::vector<std::string> problems;
  BadLines handled([&](const Error& problem) { problems.emplace_back(problem.what()); });
  EXPECT_EQ(lines_of(path, {.bad_lines = &handled}).size(), 2u);
  EXPECT_EQ(problems, (std::vector<std::string>{path.string() +
                                                ":2: not UTF-8: byte 2 of the line is 0xC3"}));
  EXPECT_EQ(handled.skipped(), 1);
}

TEST(BadLines, CountsFromSeveralReaders) {
  TempFolder folder;
  BadLines skipped(OnBadLine::Skip);
  for (int i = 0; i < 10; ++i)
    lines_of(folder.file("a", "\xFF\nx\n\xFF\n"), {.bad_lines = &skipped});
  EXPECT_EQ(skipped.skipped(), 20);
  EXPECT_EQ(skipped.summary().find("20 bad lines skipped, the first: "), 0u);
  EXPECT_EQ(BadLines().summary(), "");
}

}  // namespace convseq
