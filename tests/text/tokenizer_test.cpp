#include "convseq/text/tokenizer.h"

#include <gtest/gtest.h>
#include <sentencepiece_trainer.h>

#include "convseq/base/file/json_file.h"
#include "convseq/base/random.h"
#include "convseq/text/tokenizer_trainer.h"
#include "temp_folder.h"

namespace convseq {
using testing::message_of;
using testing::TempFolder;

namespace {

std::vector<std::string> made_up_sentences() {
  const std::vector<std::string> words = {"the",   "small", "green", "river",  "runs",  "slowly",
                                          "under", "old",   "stone", "bridge", "where", "people",
                                          "sing",  "songs", "about", "winter", "and",   "light"};
  std::vector<std::string> sentences;
  Random random(3);
  for (int i = 0; i < 400; ++i) {
    std::string sentence = "The";
    for (int j = 0; j < 8; ++j) sentence += " " + words[random.below(words.size())];
    sentences.push_back(sentence + ".");
  }
  return sentences;
}

struct Kind {
  TokenizerKind kind;
  bool byte_fallback;
  int32_t pieces;
};

Tokenizer trained(const Kind& kind, const TempFolder& folder) {
  write_tokenizer_folder(
      folder / "tokenizer",
      train_tokenizer(
          made_up_sentences(),
          {.kind = kind.kind, .pieces = kind.pieces, .byte_fallback = kind.byte_fallback}));
  return Tokenizer::load(folder / "tokenizer");
}

}  // namespace

class EveryTokenizer : public ::testing::TestWithParam<Kind> {};
INSTANTIATE_TEST_SUITE_P(Kinds, EveryTokenizer,
                         ::testing::Values(Kind{TokenizerKind::Unigram, true, 305},
                                           Kind{TokenizerKind::Unigram, false, 50},
                                           Kind{TokenizerKind::Bpe, true, 350},
                                           Kind{TokenizerKind::Bpe, false, 80}));

TEST_P(EveryTokenizer, HasTheWantedPiecesInT5sLayout) {
  TempFolder folder;
  const Tokenizer tokenizer = trained(GetParam(), folder);
  EXPECT_EQ(tokenizer.vocabulary().pieces(), GetParam().pieces);
  EXPECT_EQ(tokenizer.piece(Vocabulary::kPad), "<pad>");
  EXPECT_EQ(tokenizer.piece(Vocabulary::kEos), "</s>");
  EXPECT_EQ(tokenizer.piece(Vocabulary::kUnknown), "<unk>");
  EXPECT_EQ(tokenizer.piece(tokenizer.vocabulary().sentinel(7)), "<extra_id_7>");
}

TEST_P(EveryTokenizer, DecodesWhatItEncodes) {
  TempFolder folder;
  const Tokenizer tokenizer = trained(GetParam(), folder);
  for (const std::string& sentence : made_up_sentences()) {
    const std::vector<int32_t> ids = tokenizer.encode(sentence);
    EXPECT_EQ(tokenizer.decode(ids), sentence);
    for (const int32_t id : ids) EXPECT_GT(id, Vocabulary::kUnknown);
  }
}

TEST_P(EveryTokenizer, TokensAreTheSameIdsAndCoverTheText) {
  TempFolder folder;
  const Tokenizer tokenizer = trained(GetParam(), folder);
  const std::string text = "The river é 漢 sings about  😀 winter.";
  std::vector<int32_t> ids;
  size_t end = 0;
  for (const Token& token : tokenizer.tokens(text)) {
    ids.push_back(token.id);
    EXPECT_LE(token.begin, token.end);
    EXPECT_EQ(token.begin, end) << "no byte of the text is left out";
    end = token.end;
  }
  EXPECT_EQ(end, text.size());
  EXPECT_EQ(ids, tokenizer.encode(text));
}

TEST_P(EveryTokenizer, TheSameSentencesGiveTheSameModel) {
  const TokenizerTrainerOptions options{.kind = GetParam().kind,
                                        .pieces = GetParam().pieces,
                                        .byte_fallback = GetParam().byte_fallback};
  EXPECT_EQ(train_tokenizer(made_up_sentences(), options),
            train_tokenizer(made_up_sentences(), options));
}

TEST(Tokenizer, SpellsWhatItNeverSawInBytes) {
  TempFolder folder;
  const Tokenizer with_bytes = trained({TokenizerKind::Unigram, true, 305}, folder);
  EXPECT_EQ(with_bytes.decode(with_bytes.encode("漢字 😀 é")), "漢字 😀 é");
  const Tokenizer without = trained({TokenizerKind::Unigram, false, 50}, folder);
  const std::vector<int32_t> ids = without.encode("漢");
  EXPECT_EQ(ids.back(), Vocabulary::kUnknown);
}

TEST(Tokenizer, NormalisesAsT5Does) {
  TempFolder folder;
  const Tokenizer tokenizer = trained({TokenizerKind::Unigram, true, 305}, folder);
  const std::vector<int32_t> plain = tokenizer.encode("the fire");
  EXPECT_EQ(tokenizer.encode("the ﬁre"), plain) << "NFKC: the ligature is two letters";
  EXPECT_EQ(tokenizer.encode("  the\u00a0\t\n fire "), plain) << "white space is one space";
}

TEST(Tokenizer, ShowsSentinelsBetweenWordsAndForgivesUnusedIds) {
  TempFolder folder;
  const Tokenizer tokenizer = trained({TokenizerKind::Unigram, true, 305}, folder);
  const Vocabulary& vocabulary = tokenizer.vocabulary();
  std::vector<int32_t> ids{vocabulary.sentinel(0)};
  tokenizer.encode("green river", ids);
  ids.push_back(vocabulary.sentinel(1));
  tokenizer.encode("sing", ids);
  ids.push_back(Vocabulary::kEos);
  ids.push_back(Vocabulary::kPad);
  EXPECT_EQ(tokenizer.decode(ids), "<extra_id_0> green river <extra_id_1> sing");
  EXPECT_EQ(tokenizer.decode(std::vector<int32_t>{vocabulary.size() - 1}),
            tokenizer.decode(std::vector<int32_t>{Vocabulary::kUnknown}));
  EXPECT_EQ(tokenizer.decode({}), "");
}

TEST(Tokenizer, ReadsSentinelsOnlyWhereAsked) {
  const TempFolder folder;
  const Tokenizer plain = trained({TokenizerKind::Unigram, true, 305}, folder);
  const Tokenizer tokenizer = plain.with_sentinels();
  const Vocabulary& vocabulary = plain.vocabulary();
  const std::string text = "The <extra_id_0> runs under<extra_id_12>";
  std::vector<int32_t> expected = plain.encode("The");
  expected.push_back(vocabulary.sentinel(0));
  plain.encode("runs under", expected);
  expected.push_back(vocabulary.sentinel(12));
  EXPECT_EQ(tokenizer.encode(text), expected);
  EXPECT_EQ(tokenizer.decode(expected), "The <extra_id_0> runs under <extra_id_12>");
  const std::vector<Token> tokens = tokenizer.tokens(text);
  EXPECT_EQ(text.substr(tokens.back().begin), "<extra_id_12>");
  EXPECT_EQ(tokens.back().end, text.size());
  for (const int32_t id : plain.encode(text)) EXPECT_FALSE(vocabulary.is_sentinel(id));
}

TEST(Tokenizer, NamesThatAreNoSentinelsStayText) {
  const TempFolder folder;
  const Tokenizer plain = trained({TokenizerKind::Unigram, true, 305}, folder);
  for (const char* text : {"", "<extra_id_", "<extra_id_>", "<extra_id_100>", "<extra_id_07>",
                           "<extra_id_-1>", "<extra_id_5", "<Extra_id_5>"}) {
    EXPECT_EQ(plain.with_sentinels().encode(text), plain.encode(text)) << text;
  }
}

TEST(Tokenizer, RefusesWhatIsNoModelOrHasOtherIds) {
  TempFolder folder;
  const auto bad = folder.file("bad.model", "nonsense");
  EXPECT_EQ(message_of<Error>([&] { Tokenizer::load(bad); }),
            bad.string() + ": not a SentencePiece model");
  EXPECT_EQ(message_of<Error>([&] { Tokenizer::load(folder.path()); }),
            (folder / "spiece.model").string() + ": cannot open: No such file or directory");

  const auto other = folder / "other.model";
  ASSERT_TRUE(sentencepiece::SentencePieceTrainer::Train(
                  {{"input", folder.file("text", "a small text\n").string()},
                   {"model_prefix", (folder / "other").string()},
                   {"vocab_size", "12"},
                   {"hard_vocab_limit", "false"},
                   {"minloglevel", "3"}})
                  .ok());
  EXPECT_EQ(message_of<Error>([&] { Tokenizer::load(other); }),
            other.string() +
                ": its ids are pad -1, eos 2, unknown 0; T5's layout has pad 0, eos 1, unknown 2");
}

TEST(TokenizerTrainer, SaysWhyItCannot) {
  const auto message = [](int32_t pieces) {
    return message_of<Error>([&] { train_tokenizer({"a small text"}, {.pieces = pieces}); });
  };
  EXPECT_EQ(message(32000).find("cannot train a unigram tokenizer of 32000 pieces on 1 sentences: "
                                "Vocabulary size too high (32000)"),
            0u)
      << message(32000);
  EXPECT_EQ(message(32000).find("--vocab_size"), std::string::npos);
  EXPECT_NE(message(32000).find("Set pieces to at most "), std::string::npos);
  EXPECT_EQ(message(100),
            "pieces=100 is too small: 259 pieces are needed before the first of text; "
            "byte_fallback=false saves 256");
  EXPECT_NE(message(262).find("Increase pieces or lower character_coverage"), std::string::npos)
      << message(262);
  EXPECT_EQ(message(262).find('\n'), std::string::npos);
  EXPECT_EQ(message_of<Error>([] { train_tokenizer({"a text"}, {.character_coverage = 0.9}); }),
            "character_coverage is 0.9; allowed: 0.98 to 1");
  EXPECT_EQ(message_of<Error>([] { train_tokenizer({}, {}); }),
            "the corpus holds no text to train a tokenizer on");
}

TEST(TokenizerTrainer, WritesAFolderAsHuggingFaceLaysItOut) {
  TempFolder folder;
  trained({TokenizerKind::Unigram, true, 305}, folder);
  const Json config = read_json_file(folder / "tokenizer" / "tokenizer_config.json");
  EXPECT_EQ(config["tokenizer_class"], "T5Tokenizer");
  EXPECT_EQ(config["extra_ids"], 100);
  EXPECT_EQ(config["additional_special_tokens"].size(), 100u);
  EXPECT_EQ(config["additional_special_tokens"][99], "<extra_id_99>");
}

TEST(TokenizerTrainer, NeverReplacesAFolderThatHoldsMore) {
  TempFolder folder;
  folder.file("model.safetensors", "weights");
  EXPECT_EQ(
      message_of<Error>([&] { write_tokenizer_folder(folder.path(), "model"); }),
      folder.path().string() + ": holds model.safetensors, which would be lost; name a new folder");
  EXPECT_EQ(read_text_file(folder / "model.safetensors"), "weights");
}

}  // namespace convseq
