#include "convseq/text/tokenizer.h"

#include <sentencepiece_processor.h>

#include <charconv>

#include "convseq/base/checksum.h"
#include "convseq/base/file/json_file.h"

namespace convseq {
namespace fs = std::filesystem;

std::optional<NamedSentinel> find_sentinel(std::string_view text, size_t from) {
  constexpr std::string_view kPrefix = "<extra_id_";
  for (size_t at = text.find(kPrefix, from); at != text.npos; at = text.find(kPrefix, at + 1)) {
    int32_t index = -1;
    const std::string_view digits = text.substr(at + kPrefix.size(), 2);
    std::from_chars(digits.data(), digits.data() + digits.size(), index);
    if (index < 0 || index >= Vocabulary::kSentinels) continue;
    const std::string name = Vocabulary::sentinel_name(index);
    if (text.substr(at, name.size()) == name) return NamedSentinel{index, at, at + name.size()};
  }
  return std::nullopt;
}

fs::path tokenizer_file(const fs::path& path) {
  return fs::is_directory(path) ? path / "spiece.model" : path;
}

Tokenizer::Tokenizer(std::shared_ptr<const Model> model)
    : model_(std::move(model)),
      vocabulary_(model_->GetPieceSize()),
      fingerprint_(crc32_of(model_->serialized_model_proto())) {}

Tokenizer Tokenizer::load(const fs::path& path) {
  const fs::path file = tokenizer_file(path);
  auto model = std::make_shared<Model>();
  require(model->LoadFromSerializedProto(read_text_file(file)).ok(),
          "{}: not a SentencePiece model", file.string());
  require(model->pad_id() == Vocabulary::kPad && model->eos_id() == Vocabulary::kEos &&
              model->unk_id() == Vocabulary::kUnknown,
          "{}: its ids are pad {}, eos {}, unknown {}; T5's layout has pad {}, eos {}, unknown {}",
          file.string(), model->pad_id(), model->eos_id(), model->unk_id(), Vocabulary::kPad,
          Vocabulary::kEos, Vocabulary::kUnknown);
  return Tokenizer(std::move(model));
}

Tokenizer Tokenizer::with_sentinels() const {
  Tokenizer tokenizer = *this;
  tokenizer.reads_sentinels_ = true;
  return tokenizer;
}

void Tokenizer::encode(std::string_view text, std::vector<int32_t>& out) const {
  if (reads_sentinels_) {
    for (const Token& token : tokens(text)) out.push_back(token.id);
    return;
  }
  std::vector<int> ids;
  const auto status = model_->Encode(text, &ids);
  require(status.ok(), "the tokenizer refuses a text: {}", status.message());
  out.insert(out.end(), ids.begin(), ids.end());
}

std::vector<int32_t> Tokenizer::encode(std::string_view text) const {
  std::vector<int32_t> ids;
  encode(text, ids);
  return ids;
}

std::vector<Token> Tokenizer::tokens(std::string_view text) const {
  std::vector<Token> tokens;
  size_t begin = 0;
  if (reads_sentinels_) {
    while (const auto sentinel = find_sentinel(text, begin)) {
      append_tokens(text, begin, sentinel->begin, tokens);
      tokens.push_back({vocabulary_.sentinel(sentinel->index), sentinel->begin, sentinel->end});
      begin = sentinel->end;
    }
  }
  append_tokens(text, begin, text.size(), tokens);
  return tokens;
}

void Tokenizer::append_tokens(std::string_view text, size_t begin, size_t end,
                              std::vector<Token>& out) const {
  const sentencepiece::ImmutableSentencePieceText encoded =
      model_->EncodeAsImmutableProto(text.substr(begin, end - begin));
  for (const auto& piece : encoded.pieces()) {
    out.push_back({static_cast<int32_t>(piece.id()), begin + piece.begin(), begin + piece.end()});
  }
}

std::string Tokenizer::decode(std::span<const int32_t> ids) const {
  std::string text;
  const auto append = [&](std::string_view part) {
    if (!text.empty() && !part.empty()) text += ' ';
    text += part;
  };
  // SentencePiece knows only its own pieces: text between sentinels is decoded run by run.
  std::vector<int> run;
  const auto append_run = [&] {
    if (!run.empty()) append(model_->DecodeIds(run));
    run.clear();
  };
  for (const int32_t id : ids) {
    if (vocabulary_.is_sentinel(id)) {
      append_run();
      append(Vocabulary::sentinel_name(vocabulary_.sentinel_index(id)));
    } else {
      run.push_back(vocabulary_.is_piece(id) ? id : Vocabulary::kUnknown);
    }
  }
  append_run();
  return text;
}

std::string Tokenizer::piece(int32_t id) const {
  if (vocabulary_.is_sentinel(id)) {
    return Vocabulary::sentinel_name(vocabulary_.sentinel_index(id));
  }
  return model_->IdToPiece(vocabulary_.is_piece(id) ? id : Vocabulary::kUnknown);
}

}  // namespace convseq
