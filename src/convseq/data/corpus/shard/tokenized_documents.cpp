#include "convseq/data/corpus/shard/tokenized_documents.h"

namespace convseq {
namespace {
constexpr int64_t kChunkBytes = 64 << 10;
}

TokenizedDocuments::TokenizedDocuments(std::vector<std::filesystem::path> files,
                                       Tokenizer tokenizer,
                                       const TokenizedDocumentsOptions& options,
                                       DocumentPlace start)
    : bad_lines_(options.reader.lines.bad_lines),
      reader_(std::move(files), options.reader, start),
      tokenizer_(std::move(tokenizer)),
      chunks_(
          {.threads = options.threads,
           .capacity = static_cast<size_t>(options.bytes_ahead / kChunkBytes) + options.threads},
          [this] { return read_chunk(); },
          [this](TextChunk texts) { return tokenize(std::move(texts)); }) {}

std::optional<TokenizedDocuments::TextChunk> TokenizedDocuments::read_chunk() {
  std::vector<std::string> documents;
  TokenizedChunk chunk;
  std::string text;
  while (chunk.text_bytes < kChunkBytes && reader_.next(text)) {
    chunk.text_bytes += std::ssize(text);
    chunk.end = reader_.place_after();
    chunk.file_position = reader_.file_position();
    chunk.bad_lines = bad_lines_ == nullptr ? 0 : bad_lines_->skipped();
    documents.push_back(std::move(text));
  }
  if (documents.empty()) return std::nullopt;
  return TextChunk{std::move(documents), std::move(chunk)};
}

TokenizedChunk TokenizedDocuments::tokenize(TextChunk texts) const {
  TokenizedChunk chunk = std::move(texts.chunk);
  for (const std::string& text : texts.documents) {
    tokenizer_.encode(text, chunk.ids);
    chunk.ids.push_back(Vocabulary::kEos);
    chunk.document_ends.push_back(chunk.ids.size());
  }
  return chunk;
}

}  // namespace convseq
