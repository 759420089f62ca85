#include "convseq/data/corpus/document_reader.h"

#include <gtest/gtest.h>

#include "compressed.h"
#include "convseq/base/error.h"
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
  std::vector<DocumentPlace> places;
  for (std::string text; reader.next(text);) places.push_back(reader.place_after());
  EXPECT_EQ(places, (std::vector<DocumentPlace>{{0, 1}, {1, 1}, {1, 3}}));
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

TEST(ExpandCorpus, LeavesOutValidationAndTestFilesThatNobodyNamed) {
  TempFolder folder;
  fs::create_directories(folder / "test/en/Validation");  // what the user spells out does not count
  const fs::path train = folder.file("test/en/c4-train.00000-of-01024.json.gz", "");
  const fs::path contest = folder.file("test/en/contest.txt", "");
  const fs::path held_out = folder.file("test/en/c4-validation.00000-of-00008.json.gz", "");
  const fs::path inside = folder.file("test/en/Validation/x.json.gz", "");
  const auto expand = [&](const std::string& corpus) {
    return expand_corpus((folder / "test" / corpus).string());
  };
  EXPECT_EQ(expand("en"), (std::vector<fs::path>{train, contest}));
  EXPECT_EQ(expand("en/"),
            (std::vector<fs::path>{folder / "test/en/c4-train.00000-of-01024.json.gz", contest}));
  EXPECT_EQ(expand("en/*.json.gz"), std::vector<fs::path>{train});
  EXPECT_EQ(expand("en/*validation*.gz"), std::vector<fs::path>{held_out});
  EXPECT_EQ(expand(held_out.filename().string().insert(0, "en/")), std::vector<fs::path>{held_out});
  EXPECT_EQ(expand("en/Validation"), std::vector<fs::path>{inside});
  EXPECT_EQ(expand("en/Val*/*.gz"), std::vector<fs::path>{inside}) << "there is nothing else";
  EXPECT_EQ(expand_corpus((folder / "test/en").string(), HeldOutFiles::Take).size(), 4u);
}

TEST(ExpandCorpus, PassesOverLinksThatLeadToThemselves) {
  TempFolder folder;
  const fs::path a = folder.file("a.txt", "");
  fs::create_symlink("loop.txt", folder / "loop.txt");
  fs::create_directory_symlink(".", folder / "circle");
  EXPECT_EQ(expand_corpus(folder.path().string()), std::vector<fs::path>{a});
  EXPECT_EQ(message_of<Error>([&] { documents_of(expand_corpus((folder / "loop.txt").string())); }),
            (folder / "loop.txt").string() + ": cannot open: Too many levels of symbolic links");
}

TEST(DocumentReader, ReadsNamesInCapitals) {
  TempFolder folder;
  EXPECT_EQ(documents_of({folder.file("A.TXT.GZ", gzip("one\n"))}),
            std::vector<std::string>{"one"});
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
