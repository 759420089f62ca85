#include <gtest/gtest.h>

#include "convseq/base/file/json_file.h"
#include "program.h"
#include "temp_folder.h"

namespace convseq {
namespace {

using testing::run_convseq;
using testing::TempFolder;

}  // namespace

class TokenizeCommand : public ::testing::Test {
 protected:
  TokenizeCommand() {
    std::string lines;
    for (int i = 0; i < 200; ++i) lines += fmt::format("The river number {} runs to the sea.\n", i);
    folder.file("corpus.txt", lines);
    run_convseq(
        fmt::format("tokenizer train {0}/corpus.txt --out {0}/tok --vocabulary 300 --model bpe",
                    folder.path().string()));
  }

  testing::Outcome tokenize(const std::string& corpus, const std::string& flags = "") const {
    return run_convseq(fmt::format("tokenize {0}/{1} {0}/out --tokenizer {0}/tok --quiet {2}",
                                   folder.path().string(), corpus, flags));
  }

  TempFolder folder;
};

TEST_F(TokenizeCommand, WritesShardsAndReportsThem) {
  const auto outcome = tokenize("corpus.txt", "--json");
  ASSERT_EQ(outcome.exit_code, 0) << outcome.output;
  const Json report = Json::parse(outcome.output);
  EXPECT_EQ(report["documents"], 200);
  EXPECT_EQ(report["complete"], true);
  EXPECT_EQ(tokenize("corpus.txt", "--json").output, outcome.output) << "nothing left to do";
}

TEST_F(TokenizeCommand, CountsOneShardInTheSingular) {
  EXPECT_NE(tokenize("corpus.txt").output.find("out: 1 shard, 200 documents, "), std::string::npos);
}

TEST_F(TokenizeCommand, NamesTheFileAndLineOfBadInput) {
  folder.file("bad.jsonl", "{\"text\": \"Good.\"}\n{\"title\": \"No text.\"}\n");
  folder.file("latin.txt", "caf\xE9\n");
  folder.file("empty.txt", "");
  for (const auto& [corpus, expected] :
       {std::pair("bad.jsonl", "bad.jsonl:2: "), std::pair("latin.txt", "latin.txt:1: not UTF-8"),
        std::pair("empty.txt", "empty.txt"), std::pair("missing.txt", "no such file")}) {
    const auto outcome = tokenize(corpus);
    EXPECT_EQ(outcome.exit_code, 2) << corpus;
    EXPECT_NE(outcome.output.find(expected), std::string::npos) << outcome.output;
  }
}

TEST_F(TokenizeCommand, SkipsAndCountsBadLinesWhenAsked) {
  folder.file("bad.jsonl", "{\"text\": \"Good.\"}\n{\"title\": \"No text.\"}\nnonsense\n");
  const auto outcome = tokenize("bad.jsonl", "--on-bad-line skip --json");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.output;
  EXPECT_NE(outcome.output.find("2 bad lines skipped, the first: "), std::string::npos)
      << outcome.output;
  EXPECT_NE(outcome.output.find("\"documents\":1"), std::string::npos) << outcome.output;
  EXPECT_NE(outcome.output.find("\"bad_lines\":2"), std::string::npos) << outcome.output;
}

}  // namespace convseq
