#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "convseq/text/sentinels.h"

namespace sentencepiece {
class SentencePieceProcessor;
}

namespace convseq {

// `path`: a SentencePiece model, or a folder that holds it as spiece.model. Returns the model.
std::filesystem::path tokenizer_file(const std::filesystem::path& path);

// A sentinel as text.
struct NamedSentinel {
  int32_t index;
  size_t begin, end;  // the bytes of the text
};
// The first "<extra_id_N>" at or after `from`, N from 0 to 99.
std::optional<NamedSentinel> find_sentinel(std::string_view text, size_t from);

struct Token {
  int32_t id;
  size_t begin, end;  // the bytes of the text that it stands for
};

// Text to ids and back, by a SentencePiece model with T5's layout of ids. Many threads may use one.
class Tokenizer {
 public:
  static Tokenizer load(const std::filesystem::path& path);  // see tokenizer_file()

  // The same, but "<extra_id_0>" in a text is sentinel 0, as for T5. By default it is plain text,
  // so that nobody's text can hold a special token.
  Tokenizer with_sentinels() const;

  void encode(std::string_view text, std::vector<int32_t>& out) const;  // appends, without an EOS
  std::vector<int32_t> encode(std::string_view text) const;
  std::vector<Token> tokens(std::string_view text) const;  // the same ids, and where they stand
  std::string decode(std::span<const int32_t> ids) const;  // a sentinel shows as <extra_id_0>

  std::string piece(int32_t id) const;  // "▁the", "<extra_id_0>"
  const Vocabulary& vocabulary() const { return vocabulary_; }
  uint32_t fingerprint() const { return fingerprint_; }  // of the model: ids of two do not mix

 private:
  using Model = sentencepiece::SentencePieceProcessor;
  explicit Tokenizer(std::shared_ptr<const Model> model);
  void append_tokens(std::string_view text, size_t begin, size_t end,
                     std::vector<Token>& out) const;

  std::shared_ptr<const Model> model_;
  Vocabulary vocabulary_;
  uint32_t fingerprint_;
  bool reads_sentinels_ = false;
};

}  // namespace convseq
