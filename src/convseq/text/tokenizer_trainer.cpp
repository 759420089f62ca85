#include "convseq/text/tokenizer_trainer.h"

#include <sentencepiece_trainer.h>

#include <optional>

#include "convseq/base/file/atomic_file.h"
#include "convseq/base/file/json_file.h"
#include "convseq/text/elapsed_progress.h"
#include "convseq/text/sentence_sample.h"
#include "convseq/text/sentinels.h"
#include "convseq/text/trim.h"

namespace convseq {
namespace fs = std::filesystem;
namespace {

class Sentences : public sentencepiece::SentenceIterator {
 public:
  explicit Sentences(const std::vector<std::string>& sentences)
      : next_(sentences.begin()), end_(sentences.end()) {}
  bool done() const override { return next_ == end_; }
  void Next() override { ++next_; }
  const std::string& value() const override { return *next_; }
  sentencepiece::util::Status status() const override { return {}; }

 private:
  std::vector<std::string>::const_iterator next_, end_;
};

// "Internal: src/trainer_interface.cc(590) [(a) == (b)] Vocabulary size too high (…)": the end, in
// one line and with our names of its options.
std::string reason_of(std::string_view message) {
  const size_t bracket = message.rfind("] ");
  std::string reason(bracket == message.npos ? message : message.substr(bracket + 2));
  const std::string pieces = marked(OptionName("pieces"));
  const std::string coverage = marked(OptionName("character_coverage"));
  const std::pair<std::string_view, std::string> our_names[] = {
      {"\n", " "},
      {"Please set it to a value <=", "Set " + pieces + " to at most"},
      {"--vocab_size", pieces},
      {"vocab_size", pieces},
      {"decrease character_coverage with --character_coverage option", "lower " + coverage},
      {"--character_coverage", coverage},
      {"--input_sentence_size", marked(OptionName("lines"))},
      {"required_chars", "the number of characters that need a piece"}};
  for (const auto& [theirs, ours] : our_names) {
    for (size_t at = reason.find(theirs); at != reason.npos; at = reason.find(theirs, at)) {
      reason.replace(at, theirs.size(), ours);
      at += ours.size();
    }
  }
  return trimmed(reason);
}

// What SentencePiece needs beside the characters: padding, EOS, unknown, and bytes.
void check(const TokenizerTrainerOptions& options) {
  const int32_t fewest = Vocabulary::kUnknown + 2 + (options.byte_fallback ? 256 : 0);
  require(options.pieces >= fewest,
          "{} is too small: {} pieces are needed before the first of text{}",
          OptionName("pieces", options.pieces), fewest - 1,
          options.byte_fallback ? fmt::format("; {} saves 256", OptionName("byte_fallback", false))
                                : "");
  require(options.character_coverage >= 0.98 && options.character_coverage <= 1,
          "{} is {}; allowed: 0.98 to 1", OptionName("character_coverage"),
          options.character_coverage);
}

Json tokenizer_config() {
  Json sentinels = Json::array();
  for (int32_t i = 0; i < Vocabulary::kSentinels; ++i) {
    sentinels.push_back(Vocabulary::sentinel_name(i));
  }
  return {{"tokenizer_class", "T5Tokenizer"},
          {"pad_token", "<pad>"},
          {"eos_token", "</s>"},
          {"unk_token", "<unk>"},
          {"extra_ids", Vocabulary::kSentinels},
          {"additional_special_tokens", sentinels}};
}

}  // namespace

std::string train_tokenizer(const std::vector<std::string>& sentences,
                            const TokenizerTrainerOptions& options) {
  require(!sentences.empty(), "the corpus holds no text to train a tokenizer on");
  check(options);
  std::optional<ElapsedProgress> progress;
  if (options.progress && !options.verbose) {
    progress.emplace(ElapsedProgressOptions{
        .label = fmt::format("training a {} tokenizer of {} pieces on {} lines",
                             name_of(options.kind), options.pieces, sentences.size())});
  }
  constexpr int kSilent = 3, kTalkative = 0;
  const std::unordered_map<std::string, std::string> arguments = {
      {"model_type", std::string(name_of(options.kind))},
      {"vocab_size", std::to_string(options.pieces)},
      {"byte_fallback", options.byte_fallback ? "true" : "false"},
      {"character_coverage", std::to_string(options.character_coverage)},
      {"normalization_rule_name", "nmt_nfkc"},
      {"pad_id", std::to_string(Vocabulary::kPad)},
      {"eos_id", std::to_string(Vocabulary::kEos)},
      {"unk_id", std::to_string(Vocabulary::kUnknown)},
      {"bos_id", "-1"},
      // Sums of floats depend on how they are split: the number of threads is part of the result.
      {"num_threads", "16"},
      {"minloglevel", std::to_string(options.verbose ? kTalkative : kSilent)}};
  Sentences iterator(sentences);
  std::string model;
  const auto status = sentencepiece::SentencePieceTrainer::Train(arguments, &iterator, &model);
  progress.reset();
  require(status.ok(), "cannot train a {} tokenizer of {} pieces on {} sentences: {}",
          name_of(options.kind), options.pieces, sentences.size(), reason_of(status.message()));
  return model;
}

void write_tokenizer_folder(const fs::path& folder, std::string_view model) {
  if (fs::exists(folder)) {
    for (const auto& entry : fs::directory_iterator(folder)) {
      const fs::path name = entry.path().filename();
      require(name == "spiece.model" || name == "tokenizer_config.json",
              "{}: holds {}, which would be lost; name a new folder", folder.string(),
              name.string());
    }
  }
  write_folder_atomically(folder, [&](const fs::path& inside) {
    write_file_atomically(inside / "spiece.model", model);
    write_json_file(inside / "tokenizer_config.json", tokenizer_config());
  });
}

}  // namespace convseq
