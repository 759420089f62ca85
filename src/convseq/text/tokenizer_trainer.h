#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "convseq/base/enum_names.h"

namespace convseq {

enum class TokenizerKind { Unigram, Bpe };
template <>
inline constexpr auto kEnumNames<TokenizerKind> = std::to_array<EnumName<TokenizerKind>>(
    {{TokenizerKind::Unigram, "unigram"}, {TokenizerKind::Bpe, "bpe"}});

struct TokenizerTrainerOptions {
  TokenizerKind kind = TokenizerKind::Unigram;
  int32_t pieces = 32000;              // vocabulary size, with padding, EOS, unknown and bytes
  bool byte_fallback = true;           // 256 byte pieces for text that no other piece covers
  double character_coverage = 0.9995;  // fraction of the characters that get their own pieces
  bool verbose = false;                // SentencePiece's own messages on standard error
  bool progress = false;               // show the elapsed time
};

// Trains a SentencePiece model with T5's layout of ids and T5's normalisation (nmt_nfkc: NFKC, and
// every kind of white space becomes one space) and returns its bytes, spiece.model. The same
// sentences give the same model.
std::string train_tokenizer(const std::vector<std::string>& sentences,
                            const TokenizerTrainerOptions& options);

// Writes spiece.model and tokenizer_config.json, as Hugging Face lays out T5's, in one step.
// Refuses a folder that holds anything else.
void write_tokenizer_folder(const std::filesystem::path& folder, std::string_view model);

}  // namespace convseq
