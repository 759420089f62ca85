#pragma once

#include "compressed.h"
#include "convseq/base/random.h"
#include "convseq/data/corpus/shard/tokenize_job.h"
#include "convseq/text/tokenizer_trainer.h"
#include "temp_folder.h"

namespace convseq::testing {

// A random document of small words; the same number gives the same text.
inline std::string small_document(uint64_t number) {
  static constexpr std::string_view kWords[] = {"the",  "small", "river", "runs", "past",
                                                "old",  "mill",  "and",   "nine", "birds",
                                                "sing", "under", "green", "hills"};
  Random random(77, {number});
  std::string text;
  for (uint64_t words = 5 + random.below(120); words > 0; --words) {
    text += std::string(kWords[random.below(std::size(kWords))]) + (words == 1 ? "." : " ");
  }
  return text;
}

inline Tokenizer small_tokenizer(const TempFolder& folder) {
  std::vector<std::string> sentences;
  for (uint64_t i = 0; i < 200; ++i) sentences.push_back(small_document(i));
  return Tokenizer::load(folder.file(
      "small.model", train_tokenizer(sentences, {.kind = TokenizerKind::Bpe, .pieces = 320})));
}

// `files` files of C4's form in <folder>/text, each with so many documents.
inline std::string write_small_corpus(const TempFolder& folder, int files, int documents) {
  std::filesystem::create_directories(folder / "text");
  uint64_t number = 1000;
  for (int file = 0; file < files; ++file) {
    std::string lines;
    for (int i = 0; i < documents; ++i) {
      lines += Json{{"text", small_document(number++)}, {"url", "x"}}.dump() + "\n";
    }
    folder.file(fmt::format("text/part-{}.json.gz", file), gzip(lines));
  }
  return (folder / "text").string();
}

}  // namespace convseq::testing
