#include "convseq/data/synth/corpus.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "convseq/base/contains.h"
#include "convseq/base/error.h"
#include "convseq/data/corpus/document_reader.h"
#include "convseq/data/synth/grammar/document.h"
#include "convseq/data/synth/grammar/facts.h"
#include "convseq/data/synth/grammar/lexicon.h"
#include "convseq/data/synth/grammar/words.h"
#include "temp_folder.h"

namespace convseq::synth {
namespace fs = std::filesystem;
using convseq::testing::message_of;
using convseq::testing::TempFolder;

namespace {

std::vector<std::string> read_documents(const fs::path& folder, const std::string& part) {
  DocumentReader reader(expand_corpus((folder / ("synth." + part + ".*.json.gz")).string()), {});
  std::vector<std::string> documents;
  for (std::string text; reader.next(text);) documents.push_back(text);
  return documents;
}

// How much a word likes the company of kind words: the share of them among the polar words that
// stand in the same sentence as it, unless one of the two is negated.
class Company {
 public:
  void add(const std::string& document) {
    for (std::string_view sentence : sentences_of(document)) {
      std::vector<std::string_view> polar;
      bool negated = false;
      for (std::string_view word : words_of(sentence)) {
        negated = negated || contains(kNegations, word);
        if (polarity_of(word)) polar.push_back(word);
      }
      if (negated) continue;
      for (std::string_view one : polar) {
        for (std::string_view other : polar) {
          if (one != other) ++together_[std::string(one)][std::string(other)];
        }
      }
    }
  }

  // Positive: kind. `known` are the only words whose polarity it looks up.
  double kindness(std::string_view word, const std::set<std::string_view>& known) const {
    double sum = 0;
    for (const auto& [other, count] : together_.at(std::string(word))) {
      if (known.contains(other)) sum += polarity_of(other) == Polarity::Kind ? count : -count;
    }
    return sum;
  }

 private:
  std::map<std::string, std::map<std::string, int>> together_;
};

}  // namespace

TEST(Document, IsAFunctionOfSeedPartAndNumber) {
  std::set<std::string> documents;
  for (uint64_t seed : {1, 2}) {
    for (CorpusPart part : {CorpusPart::Train, CorpusPart::Validation}) {
      for (uint64_t index = 0; index < 50; ++index) {
        const std::string text = write_document(seed, part, index);
        EXPECT_EQ(text, write_document(seed, part, index));
        EXPECT_TRUE(documents.insert(text).second) << text;
      }
    }
  }
}

// The same with every compiler and on every machine.
TEST(Document, IsTheOneItAlwaysWas) {
  EXPECT_EQ(
      write_document(1, CorpusPart::Train, 0),
      "paula had a yellow boat. lena had a brown shirt. "
      "sadly everyone called the compass very gluzul, gredim and grultik. "
      "grimly the captain was spobit, bubat and drebor. "
      "lena hid the sail behind the round pier. "
      "julia hid the compass under the large harbour. a captain returned. "
      "grimly the sail was never still keske, and the diver was wooden, gredim and tiska gloze. "
      "simon walked. "
      "boris handed the pilot under the cabin near the cabin inside the beach to the pilot. "
      "the sailor ( a friend of julia ) returned to the sea. "
      "julia knelt inside the wooden beach. she waited inside the wooden beach. "
      "sadly the net was not klomum but drebor and spobit. "
      "the zizin diver found the net bubat and murvom, sadly. the shirt of lena was brown. "
      "claim: the shirt of lena was green. answer: no. "
      "question: where did julia hide the compass? answer: under the large harbour. "
      "the boat of paula and the shirt of lena had different colours. "
      "it was a rude night and a zaskes rultus night.");
}

TEST(Document, NeverContradictsItself) {
  int64_t claims = 0, repeated = 0;
  for (uint64_t index = 0; index < 500; ++index) {
    const std::string text = write_document(7, CorpusPart::Train, index);
    std::map<std::string, std::string> colours;
    const auto sentences = sentences_of(text);
    for (size_t i = 0; i < sentences.size(); ++i) {
      const bool claim = sentences[i].starts_with(" claim:");
      const auto fact = Possession::parse(claim ? sentences[i].substr(7) : sentences[i]);
      if (!fact || std::count(kColours.begin(), kColours.end(), fact->colour) == 0) continue;
      const std::string key = phrase({fact->owner, fact->thing});
      const auto [known, is_new] = colours.try_emplace(key, fact->colour);
      const bool agrees = known->second == fact->colour;
      if (claim) {
        EXPECT_EQ(sentences[i + 1], agrees ? " answer: yes" : " answer: no") << text;
        ++claims;
      } else {
        EXPECT_TRUE(agrees) << text;
        repeated += is_new ? 0 : 1;
      }
    }
  }
  EXPECT_EQ(claims, 500);
  EXPECT_EQ(repeated, 500);
}

// What the tasks need and their training sets do not tell: the polarity of the hidden words.
TEST(Corpus, TellsThePolarityOfEveryWordByItsCompany) {
  Company company;
  for (uint64_t index = 0; index < 4000; ++index) {
    company.add(write_document(1, CorpusPart::Train, index));
  }
  std::vector<std::string_view> words;
  for (Polarity polarity : {Polarity::Kind, Polarity::Rude}) {
    for (std::string_view entry : polar_words(polarity)) words.push_back(words_of(entry)[0]);
  }
  std::set<std::string_view> known;
  for (size_t i = 0; i < words.size(); i += 4) known.insert(words[i]);
  for (std::string_view word : words) {
    if (known.contains(word)) continue;
    EXPECT_EQ(company.kindness(word, known) > 0, polarity_of(word) == Polarity::Kind) << word;
  }
}

TEST(Corpus, HoldsTheSameDocumentsInAnyNumberOfShards) {
  TempFolder folder;
  for (int64_t shards : {1, 3, 7, 50}) {
    write_corpus(folder / std::to_string(shards),
                 {.documents = 50, .validation_documents = 5, .shards = shards, .seed = 4});
  }
  std::vector<std::string> expected;
  for (uint64_t i = 0; i < 50; ++i) expected.push_back(write_document(4, CorpusPart::Train, i));
  for (const char* shards : {"1", "3", "7", "50"}) {
    EXPECT_EQ(read_documents(folder / shards, "train"), expected) << shards;
    EXPECT_EQ(read_documents(folder / shards, "validation").size(), 5u);
  }
}

TEST(Corpus, CountsWhatItWroteAndReportsProgress) {
  TempFolder folder;
  std::vector<int64_t> seen;
  const CorpusReport report = write_corpus(
      folder / "c", {.documents = 2500,
                     .validation_documents = 10,
                     .shards = 2,
                     .on_progress = [&](int64_t written) { seen.push_back(written); }});
  EXPECT_EQ(report.documents, 2510);
  EXPECT_EQ(seen.back(), 2510);
  EXPECT_TRUE(std::is_sorted(seen.begin(), seen.end()));
  int64_t bytes = 0;
  for (const char* part : {"train", "validation"}) {
    for (const std::string& text : read_documents(folder / "c", part)) {
      bytes += static_cast<int64_t>(text.size());
    }
  }
  EXPECT_EQ(report.bytes, bytes);
}

TEST(Corpus, CanBeOneDocument) {
  TempFolder folder;
  write_corpus(folder / "c", {.documents = 1, .validation_documents = 1, .shards = 1});
  EXPECT_EQ(read_documents(folder / "c", "train").size(), 1u);
}

TEST(Corpus, RefusesWhatItCannotWrite) {
  TempFolder folder;
  const auto message = [&](const CorpusOptions& options, const std::string& name) {
    return message_of<Error>([&] { write_corpus(folder / name, options); });
  };
  EXPECT_EQ(message({.documents = 0}, "c"), "documents is 0; allowed: 1 or more");
  EXPECT_EQ(message({.validation_documents = 0}, "c"),
            "validation_documents is 0; allowed: 1 or more");
  EXPECT_EQ(message({.documents = 3, .shards = 4}, "c"),
            "shards is 4; allowed: 1 to 3, the number of documents");
  fs::create_directory(folder / "full");
  folder.file("full/mine.txt", "keep me");
  EXPECT_EQ(
      message({.documents = 5, .shards = 1}, "full"),
      (folder / "full").string() + ": is not empty (it holds mine.txt); choose another folder");
  EXPECT_TRUE(fs::exists(folder / "full" / "mine.txt"));
}

}  // namespace convseq::synth
