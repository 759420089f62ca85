#include "text/tokenizer_trainer.h"

#include <sentencepiece_trainer.h>

#include "base/atomic_file.h"
#include "base/json_file.h"
#include "text/sentence_sample.h"
#include "text/sentinels.h"

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

// "Internal: src/trainer_interface.cc(590) [(a) == (b)] Vocabulary size too high (…)": keep the
// end.
std::string_view reason_of(std::string_view message) {
  const size_t bracket = message.rfind("] ");
  return bracket == message.npos ? message : message.substr(bracket + 2);
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
