#include "data/document_reader.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "compressed.h"
#include "temp_folder.h"

namespace convseq {
namespace fs = std::filesystem;
using testing::gzip;
using testing::message_of;
using testing::TempFolder;
using testing::zstd;

namespace {

std::vector<std::string> documents_of(std::vector<fs::path> files,
                                      DocumentReaderOptions options = {}) {
  DocumentReader reader(std::move(files), std::move(options));
  std::vector<std::string> documents;
  for (std::string text; reader.next(text);) documents.push_back(text);
  return documents;
}

const std::string kJsonLines =
    "{\"text\": \"one\\ntwo é\", \"url\": \"u\"}\n\n{\"url\": \"v\", \"text\": \"three\"}\n";

}  // namespace

TEST(DocumentReader, ReadsEveryForm) {
  TempFolder folder;
  const std::vector<std::string> json = {"one\ntwo é", "three"}, text = {"one", "two"};
  EXPECT_EQ(documents_of({folder.file("a.json", kJsonLines)}), json);
  EXPECT_EQ(documents_of({folder.file("a.json.gz", gzip(kJsonLines))}), json);
  EXPECT_EQ(documents_of({folder.file("a.jsonl.zst", zstd(kJsonLines))}), json);
  EXPECT_EQ(documents_of({folder.file("a.txt", "one\n\n \ntwo\n")}), text);
  EXPECT_EQ(documents_of({folder.file("a.txt.gz", gzip("one\ntwo"))}), text);
}

TEST(DocumentReader, GoesFromFileToFile) {
  TempFolder folder;
  DocumentReader reader({folder.file("a.txt", "x\n"), folder.file("b.json", kJsonLines)});
  std::vector<std::string> places;
  for (std::string text; reader.next(text);) {
    places.push_back(fmt::format("{} {}", reader.file_index(), reader.where()));
  }
  EXPECT_EQ(places, (std::vector<std::string>{"0 " + (folder / "a.txt:1").string(),
                                              "1 " + (folder / "b.json:1").string(),
                                              "1 " + (folder / "b.json:3").string()}));
}

TEST(DocumentReader, TakesAnotherField) {
  TempFolder folder;
  EXPECT_EQ(documents_of({folder.file("a.jsonl", "{\"body\": \"x\"}")}, {.field = "body"}),
            std::vector<std::string>{"x"});
}

TEST(DocumentReader, NamesTheBadLineOrSkipsAndCountsIt) {
  TempFolder folder;
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"{\"txt\": \"x\"}", "has no field text"},
      {"{\"text\": 3}", "the field text is no text"},
      {"[1]", "holds no JSON object"},
      {"{\"text\": \"x\"", "not JSON: parse error"},
      {"{\"text\": \"\\ud800\"}", "not JSON: parse error"},
      {"{\"text\": \"" + std::string(100'000, 'x'), "not JSON: parse error"}};
  for (const auto& [line, problem] : cases) {
    const auto path =
        folder.file("a.jsonl", "{\"text\": \"good\"}\n" + line + "\n{\"text\": \"z\"}");
    const std::string message = message_of<Error>([&] { documents_of({path}); });
    EXPECT_EQ(message.find(path.string() + ":2: " + problem), 0u) << message;
    EXPECT_LT(message.size(), 400u);
    BadLines skipped(OnBadLine::Skip);
    EXPECT_EQ(documents_of({path}, {.lines = {.bad_lines = &skipped}}),
              (std::vector<std::string>{"good", "z"}));
    EXPECT_EQ(skipped.skipped(), 1);
  }
}

TEST(DocumentReader, NamesAFileWithoutDocuments) {
  TempFolder folder;
  for (const std::string content : {"", "\n \n"}) {
    const auto path = folder.file("a.txt", content);
    const std::string message = message_of<Error>([&] { documents_of({path}); });
    EXPECT_NE(message.find("the file holds no document"), message.npos) << message;
    EXPECT_EQ(message.find(path.string() + ":"), 0u);
    BadLines skipped(OnBadLine::Skip);
    EXPECT_EQ(documents_of({path, folder.file("b.txt", "x")}, {.lines = {.bad_lines = &skipped}}),
              std::vector<std::string>{"x"});
    EXPECT_EQ(skipped.skipped(), 1);
  }
}

TEST(DocumentReader, GoesOnWithTheNextFileWhereOneBreaksOff) {
  TempFolder folder;
  const std::string packed = gzip(kJsonLines);
  const auto broken = folder.file("a.json.gz", packed.substr(0, packed.size() - 5));
  const auto whole = folder.file("b.json.gz", packed);
  EXPECT_NE(message_of<Error>([&] {
              documents_of({broken, whole});
            }).find("a.json.gz:4: the gzip"),
            std::string::npos);
  BadLines skipped(OnBadLine::Skip);
  EXPECT_EQ(documents_of({broken, whole}, {.lines = {.bad_lines = &skipped}}).size(), 4u);
  EXPECT_EQ(skipped.skipped(), 1);
}

TEST(ExpandCorpus, TakesFilesFoldersAndPatternsInOrder) {
  TempFolder folder;
  fs::create_directories(folder / "c4/en");
  const fs::path b = folder.file("c4/b.json.gz", ""), a = folder.file("c4/en/a.txt.zst", "");
  const fs::path c = folder.file("c4/c.jsonl", "");
  folder.file("c4/readme.md", "");
  EXPECT_EQ(expand_corpus((folder / "c4").string()), (std::vector<fs::path>{b, c, a}));
  EXPECT_EQ(expand_corpus((folder / "c4/*.json*").string()), (std::vector<fs::path>{b, c}));
  EXPECT_EQ(expand_corpus(b.string()), std::vector<fs::path>{b});
  EXPECT_EQ(expand_corpus("-"), std::vector<fs::path>{"-"});
}

TEST(ExpandCorpus, NamesWhatItCannotUse) {
  TempFolder folder;
  EXPECT_EQ(message_of<Error>([] { expand_corpus("/no/such/*.gz"); }),
            "/no/such/*.gz: no such file");
  EXPECT_EQ(message_of<Error>([&] { expand_corpus(folder.path().string()); }),
            folder.path().string() +
                ": the folder holds no .json, .jsonl or .txt file, plain or with .gz or .zst");
  EXPECT_EQ(
      message_of<Error>([] { DocumentReader reader({"a.pdf"}); }),
      "a.pdf: not a form of corpus; allowed: .json, .jsonl, .txt, each also with .gz or .zst");
}

}  // namespace convseq
