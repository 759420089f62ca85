#include "convseq/data/io/table_reader.h"

#include <gtest/gtest.h>

#include "compressed.h"
#include "convseq/base/error.h"
#include "convseq/base/random.h"
#include "convseq/data/io/csv.h"
#include "temp_folder.h"

namespace convseq {
using testing::gzip;
using testing::message_of;
using testing::TempFolder;
using testing::zstd;

namespace {

using Table = std::vector<std::vector<std::string>>;

Table table_of(const std::filesystem::path& file, TableReaderOptions options = {}) {
  TableReader reader(file, std::move(options));
  Table table;
  for (Row row; reader.next(row);) {
    table.emplace_back();
    for (const Row::Field& field : row.fields()) {
      table.back().push_back(field.name + "=" + field.text);
    }
  }
  return table;
}

std::string in_quotes(const std::string& field) {
  std::string text = "\"";
  for (const char c : field) text += c == '"' ? "\"\"" : std::string(1, c);
  return text + "\"";
}

}  // namespace

TEST(TableReader, ReadsTheSameRowsFromEveryForm) {
  TempFolder folder;
  const Table expected = {{"text=a b", "label=good"}, {"text=c", "label="}};
  const std::string json =
      "{\"text\": \"a b\", \"label\": \"good\"}\n{\"text\": \"c\", \"label\": null}";
  EXPECT_EQ(table_of(folder.file("a.jsonl", json)), expected);
  EXPECT_EQ(table_of(folder.file("a.jsonl.zst", zstd(json))), expected);
  EXPECT_EQ(table_of(folder.file("a.csv", "text,label\na b,good\nc,\n")), expected);
  EXPECT_EQ(table_of(folder.file("b.csv", "text,label\r\n\"a b\",good\r\n\r\nc,\"\"\r\n")),
            expected);
  EXPECT_EQ(table_of(folder.file("a.csv.gz", gzip("text,label\na b,good\nc,\n"))), expected);
  EXPECT_EQ(table_of(folder.file("a.tsv", "text\tlabel\na b\tgood\nc\t\n")), expected);
  EXPECT_EQ(table_of(folder.file("n.csv", "a b,good\nc,\n"), {.columns = {"text", "label"}}),
            expected)
      << "without a line of names";
}

TEST(TableReader, TellsSemicolonsFromCommasByTheFirstLine) {
  TempFolder folder;
  const Table expected = {{"text=a, b", "label=good"}};
  EXPECT_EQ(table_of(folder.file("a.csv", "text;label\na, b;good\n")), expected);
  EXPECT_EQ(table_of(folder.file("a.csv", "\"text\";\"label\"\n\"a, b\";good\n")), expected);
  EXPECT_EQ(table_of(folder.file("a.csv", "\"a, b\";good\n"), {.columns = {"text", "label"}}),
            expected);
  const auto both = folder.file("a.csv", "text;a,b;label\n1;2;3\n");
  EXPECT_EQ(table_of(both, {.needed = {"text", "label"}}), (Table{{"text=1", "a,b=2", "label=3"}}));
  EXPECT_EQ(message_of<Error>([&] {
              table_of(both, {.needed = {"title", "text"}});
            }),
            both.string() +
                ":1: has no column title; it has: text, a,b, label (its fields are separated by "
                "semicolons)");
  const auto tabs = folder.file("a.csv", "text\tlabel\n1\t2\n");
  EXPECT_EQ(message_of<Error>([&] { table_of(tabs, {.needed = {"text"}}); }),
            tabs.string() +
                ":1: has no column text; it has: text\tlabel (its fields are separated by "
                "tabs: name it .tsv)");
}

TEST(TableReader, ReadsNamesInCapitals) {
  TempFolder folder;
  EXPECT_EQ(table_of(folder.file("A.CSV", "a,b\n1,2\n")), (Table{{"a=1", "b=2"}}));
  EXPECT_EQ(table_of(folder.file("A.Tsv.GZ", gzip("a\tb\n1\t2\n"))), (Table{{"a=1", "b=2"}}));
  EXPECT_TRUE(TableReader::has_table_name("A.CSV"));
  EXPECT_TRUE(TableReader::has_table_name("a.json.gz"));
  EXPECT_FALSE(TableReader::has_table_name("task.json"));
  EXPECT_EQ(TableReader::columns_of(folder / "A.CSV"), (std::vector<std::string>{"a", "b"}));
}

TEST(TableReader, ReadsFastTextFiles) {
  TempFolder folder;
  const Table expected = {{"label=good", "text=A fine  film."}, {"label=bad", "text=Dull"}};
  const std::string lines = "__label__good A fine  film.\n\nDull __label__bad\n";
  EXPECT_EQ(table_of(folder.file("a.txt", lines)), expected);
  EXPECT_EQ(table_of(folder.file("a.ft.gz", gzip(lines))), expected);
  const auto bad = folder.file("b.ft", "__label__a __label__b Both.\nNeither.\n__label__a One.\n");
  EXPECT_EQ(message_of<Error>([&] { table_of(bad); }),
            bad.string() +
                ":1: has 2 labels (a, b); several labels per text need a task with "
                "label_kind multi");
  BadLines skipped(OnBadLine::Skip);
  EXPECT_EQ(table_of(bad, {.lines = {.bad_lines = &skipped}}), (Table{{"label=a", "text=One."}}));
  EXPECT_EQ(skipped.skipped(), 2);
  EXPECT_EQ(message_of<Error>([&] { table_of(bad, {.needed = {"title"}}); }),
            bad.string() + ": has no column title; it has: label, text");
}

TEST(TableReader, ReadsPlainLinesWhereTheirColumnIsNamed) {
  TempFolder folder;
  const TableReaderOptions options{.line_column = "text"};
  const Table lines = {{"text=one, two"}, {"text="}, {"text=__label__x three\t"}};
  const std::string text = "one, two\n\n__label__x three\t\n";
  EXPECT_EQ(table_of(folder.file("a.txt", text), options), lines);
  EXPECT_EQ(table_of(folder.file("a", text), options), lines);
  EXPECT_EQ(table_of(folder.file("a.csv", text), {.form = TableForm::Lines, .line_column = "text"}),
            lines);
  EXPECT_EQ(table_of(folder.file("a.jsonl", "{\"text\": 1}\n"), options), Table{{"text=1"}});
  EXPECT_TRUE(table_of(folder.file("empty.csv", ""), options).empty());
}

TEST(TableReader, ReadsTheFormThatItIsToldWhateverTheName) {
  TempFolder folder;
  EXPECT_EQ(table_of(folder.file("a.txt", "x,y\n1,2\n"), {.form = TableForm::Csv}),
            (Table{{"x=1", "y=2"}}));
}

TEST(TableReader, KeepsQuotesInTsv) {
  TempFolder folder;
  EXPECT_EQ(table_of(folder.file("a.tsv", "a\tb\n\"x\t\"y\" z\n")),
            (Table{{"a=\"x", "b=\"y\" z"}}));
}

TEST(TableReader, ARowOfEmptyFieldsIsARow) {
  TempFolder folder;
  EXPECT_EQ(table_of(folder.file("a.tsv", "a\tb\n\t\n\nx\ty\n")),
            (Table{{"a=", "b="}, {"a=x", "b=y"}}));
}

TEST(TableReader, TurnsJsonValuesIntoText) {
  TempFolder folder;
  TableReader reader(folder.file(
      "a.jsonl",
      R"({"i": 3, "d": 0.667, "b": true, "l": ["x", "y"], "n": [0, 1], "o": {"k": 1}})"));
  Row row;
  ASSERT_TRUE(reader.next(row));
  EXPECT_EQ(row.text("i"), "3");
  EXPECT_EQ(row.text("d"), "0.667");
  EXPECT_EQ(row.text("b"), "true");
  EXPECT_EQ(row.text("l"), "x, y");
  EXPECT_EQ(row.field("l").items, (std::vector<std::string>{"x", "y"}));
  EXPECT_EQ(row.field("n").items, (std::vector<std::string>{"0", "1"}));
  EXPECT_EQ(row.text("o"), R"({"k":1})");
  EXPECT_EQ(message_of<Error>([&] { row.text("z"); }), "has no column z; it has: i, d, b, l, n, o");
}

TEST(Csv, GivesBackEveryFieldThatWasQuoted) {
  TempFolder folder;
  Random random(1);
  const std::string alphabet = "ab,\"\n \t";
  for (int round = 0; round < 300; ++round) {
    const size_t columns = 1 + random.below(3), rows = 1 + random.below(4);
    std::string csv = "c0";
    for (size_t column = 1; column < columns; ++column) csv += fmt::format(",c{}", column);
    Table expected(rows);
    for (auto& row : expected) {
      csv += '\n';
      for (size_t column = 0; column < columns; ++column) {
        std::string field;
        for (uint64_t n = random.below(8); n > 0; --n) {
          field += alphabet[random.below(alphabet.size())];
        }
        csv += (column > 0 ? "," : "") + in_quotes(field);
        row.push_back(fmt::format("c{}={}", column, field));
      }
    }
    EXPECT_EQ(table_of(folder.file("a.csv", csv)), expected) << csv;
  }
}

struct BadTable {
  std::string name;
  std::string content;
  std::string problem;  // after the file's name
  size_t rows_left;     // when bad lines are skipped
};

TEST(TableReader, NamesTheBadRowOrSkipsAndCountsIt) {
  TempFolder folder;
  for (const BadTable& bad :
       {BadTable{"a.csv", "a,b\n1,2\n1,2,3\n4,5\n", ":3: has 3 fields; there are 2 columns: a, b",
                 2},
        BadTable{"a.csv", "a,b\n1,2\n\"x\ny\" z,3\n4,5\n", ":3: text follows the closing quote", 2},
        BadTable{"a.csv", "a,b\n1,2\n\"x,3\n4,5\n", ":3: a quoted field has no end, up to line 4",
                 1},
        BadTable{"a.tsv", "a\tb\n1\t2\n3\n", ":3: has 1 field; there are 2 columns: a, b", 1},
        BadTable{"a.jsonl", "{\"a\": 1}\n{\"a\": 1, \"a\": 2}\n", ":2: a is given twice", 1},
        BadTable{"a.jsonl", "{\"a\": 1}\n\xFF\n{\"a\": 1}", ":2: not UTF-8: byte 1", 2},
        BadTable{"a.csv", "a,b\n1,\"x\xEF\n\"\n3,4\n5,6\n", ":2: not UTF-8: byte 5", 2},
        BadTable{"a.csv", "a,b\n1,\"x\n5,\xEF\nz\"\n3,4\n", ":2: line 3: not UTF-8: byte 3", 1},
        BadTable{"a.jsonl", "", ":1: the file holds no row", 0},
        BadTable{"a.csv", "", ":1: the file holds no row", 0},
        BadTable{"a.csv", "a,b\n\n", ":2: the file holds no row", 0}}) {
    const auto path = folder.file(bad.name, bad.content);
    const std::string message = message_of<Error>([&] { table_of(path); });
    EXPECT_EQ(message.find(path.string() + bad.problem), 0u) << message;
    BadLines skipped(OnBadLine::Skip);
    EXPECT_EQ(table_of(path, {.lines = {.bad_lines = &skipped}}).size(), bad.rows_left) << message;
    EXPECT_EQ(skipped.skipped(), 1) << message;
  }
}

TEST(TableReader, NeverSkipsAFileWhoseColumnsAreWrong) {
  TempFolder folder;
  BadLines skipped(OnBadLine::Skip);
  const auto message = [&](const std::string& content) {
    const auto path = folder.file("a.csv", content);
    return message_of<Error>([&] {
             table_of(path, {.needed = {"text", "label"}, .lines = {.bad_lines = &skipped}});
           })
        .substr(path.string().size());
  };
  EXPECT_EQ(message("text,lable\nx,y\n"), ":1: has no column label; it has: text, lable");
  EXPECT_EQ(message("text,text\nx,y\n"), ":1: two columns are named text");
  EXPECT_EQ(message("text,\"label\nx,y\n"), ":1: a quoted field has no end, up to line 2");
}

TEST(TableReader, BoundsARecordWhoseQuoteNeverCloses) {
  TempFolder folder;
  std::string csv = "a,b\n\"open";
  for (int i = 0; i < 1000; ++i) csv += "\nline,x";
  const auto path = folder.file("a.csv", csv);
  EXPECT_EQ(
      message_of<Error>([&] { table_of(path, {.lines = {.max_line_bytes = 500}}); }),
      path.string() + ":2: a record of more than 500 bytes, up to line 73; is a quote missing?");
}

TEST(TableReader, TellsOtherFormsApart) {
  EXPECT_EQ(
      message_of<Error>([] { TableReader reader("/dev/null"); }),
      "/dev/null: not a form of table; allowed: .jsonl, .csv, .tsv, fastText's .txt and .ft, each "
      "also with .gz or .zst");
}

}  // namespace convseq
