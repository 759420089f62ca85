#pragma once

#include "convseq/data/corpus/document_reader.h"
#include "convseq/data/prefetcher.h"
#include "convseq/text/tokenizer.h"

namespace convseq {

// Consecutive documents, as ids.
struct TokenizedChunk {
  std::vector<int32_t> ids;           // with an EOS after each document
  std::vector<size_t> document_ends;  // in ids
  int64_t text_bytes = 0;
  DocumentPlace end;          // where the next chunk begins
  int64_t file_position = 0;  // bytes of file `end.file` read up to there
  int64_t bad_lines = 0;      // skipped up to there
};

struct TokenizedDocumentsOptions {
  size_t threads = 1;
  int64_t bytes_ahead = 4 << 20;  // of text, tokenized ahead
  DocumentReaderOptions reader = {};
};

// Documents tokenized on several threads, in order. The boundaries of the chunks depend on the
// documents and the start alone, not on the threads.
class TokenizedDocuments {
 public:
  TokenizedDocuments(std::vector<std::filesystem::path> files, Tokenizer tokenizer,
                     const TokenizedDocumentsOptions& options, DocumentPlace start = {});

  std::optional<TokenizedChunk> next() { return chunks_.next(); }  // empty at the end

 private:
  struct TextChunk {
    std::vector<std::string> documents;
    TokenizedChunk chunk;  // all of it but the ids
  };
  std::optional<TextChunk> read_chunk();
  TokenizedChunk tokenize(TextChunk texts) const;

  const BadLines* bad_lines_;  // may be null
  DocumentReader reader_;
  const Tokenizer tokenizer_;
  Prefetcher<TextChunk, TokenizedChunk> chunks_;  // last: its threads use the others
};

}  // namespace convseq
