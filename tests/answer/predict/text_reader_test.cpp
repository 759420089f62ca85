#include "convseq/answer/predict/text_reader.h"

#include <gtest/gtest.h>

#include "compressed.h"
#include "temp_folder.h"

namespace convseq {
using testing::gzip;
using testing::message_of;
using testing::TempFolder;

namespace {

using Lines = std::vector<std::string>;

// "2 text" for each row, "3! problem" for one that cannot be used, without the file's name.
Lines rows_of(const std::filesystem::path& file, TextReaderOptions options) {
  if (options.source.pattern().empty()) options.source = TextTemplate("a {text}");
  TextReader reader(file, options);
  Lines rows;
  for (TextRow row; reader.next(row);) {
    const size_t name = row.error.starts_with(file.string()) ? file.string().size() : 0;
    rows.push_back(row.error.empty() ? fmt::format("{} {}", row.number, row.source.text)
                                     : fmt::format("{}! {}", row.number, row.error.substr(name)));
  }
  return rows;
}

}  // namespace

TEST(TextReader, GivesTheSameTextsOfEveryFormat) {
  TempFolder folder;
  const Lines rows = {"1 a one, two", "2 a three"};
  const std::string lines = "one, two\nthree\n";
  EXPECT_EQ(rows_of(folder.file("a.txt", lines), {}), rows);
  EXPECT_EQ(rows_of(folder.file("a.txt.gz", gzip(lines)), {}), rows);
  EXPECT_EQ(rows_of(folder.file("a.csv", "text,n\n\"one, two\",1\nthree,2\n"), {}), rows);
  EXPECT_EQ(rows_of(folder.file("a.tsv", "n\ttext\n1\tone, two\n2\tthree\n"), {}), rows);
  const std::string json = "{\"text\": \"one, two\"}\n{\"n\": 1, \"text\": \"three\"}\n";
  EXPECT_EQ(rows_of(folder.file("a.jsonl", json), {}), rows);
  EXPECT_EQ(rows_of(folder.file("b.txt", json), {.form = TableForm::JsonLines}), rows);
}

TEST(TextReader, TakesTheTextFromTheNamedColumn) {
  TempFolder folder;
  const auto file = folder.file("a.csv", "text,body\nno,yes\n");
  EXPECT_EQ(rows_of(file, {.column = "body"}), Lines{"1 a yes"});
  EXPECT_EQ(rows_of(folder.file("a.txt", "yes\n"), {.column = "body"}), Lines{"1 a yes"});
  EXPECT_EQ(message_of<Error>([&] { rows_of(file, {.column = "title"}); }),
            file.string() + ":1: has no column title; it has: text, body");
}

TEST(TextReader, RowsThatCannotBeUsedKeepTheirPlace) {
  TempFolder folder;
  const std::string bytes = "good\n\n\xFF\xFE\n \t\nalso\n" + std::string(17 << 20, 'x') + "\nend";
  EXPECT_EQ(rows_of(folder.file("a.txt", bytes), {}),
            (Lines{"1 a good", "2! :2: the text is empty",
                   "3! :3: not UTF-8: byte 1 of the line is 0xFF", "4! :4: the text is empty",
                   "5 a also", "6! :6: a line of more than 16777216 bytes", "7 a end"}));
  EXPECT_EQ(
      rows_of(folder.file("a.jsonl", "{\"text\": \"x\"}\n{\"n\": 1}\n{\n{\"text\": \"y\"}\n"), {})
          .size(),
      4u);
  EXPECT_EQ(rows_of(folder.file("a.csv", "text\nx\nx,y\ny\n"), {}),
            (Lines{"1 a x", "2! :3: has 2 fields; there are 1 column: text", "3 a y"}));
}

TEST(TextReader, ThousandsOfBadLinesAreGivenOutOneByOne) {
  TempFolder folder;
  std::string bytes = "good\n";
  for (int i = 0; i < 5000; ++i) bytes += "\xFF\n";
  const Lines rows = rows_of(folder.file("a.txt", bytes + "end\n"), {});
  ASSERT_EQ(rows.size(), 5002u);
  EXPECT_EQ(rows[0], "1 a good");
  for (size_t i = 1; i <= 5000; ++i) {
    EXPECT_EQ(rows[i], fmt::format("{0}! :{0}: not UTF-8: byte 1 of the line is 0xFF", i + 1));
  }
  EXPECT_EQ(rows[5001], "5002 a end");
}

TEST(TextReader, AnEmptyFileHasNoRows) {
  TempFolder folder;
  for (const char* name : {"a.txt", "a.jsonl", "a.csv"}) {
    EXPECT_TRUE(rows_of(folder.file(name, ""), {}).empty()) << name;
  }
}

TEST(TextReader, PlainLinesNeedASourceOfOneField) {
  TempFolder folder;
  const TextTemplate pair("{premise} so {hypothesis}");
  const auto file = folder.file("a.txt", "x\n");
  EXPECT_EQ(message_of<Error>([&] { rows_of(file, {.source = pair, .form = TableForm::Lines}); }),
            "the source \"{premise} so {hypothesis}\" has 2 fields; use a table with the columns "
            "premise, hypothesis, or another source");
  EXPECT_EQ(rows_of(folder.file("a.tsv", "premise\thypothesis\nx\ty\n"), {.source = pair}),
            Lines{"1 x so y"});
}

}  // namespace convseq
