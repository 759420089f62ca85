#include "convseq/spec/vocabulary_check.h"

namespace convseq {

void check_vocabulary(const ModelConfig& config, const Vocabulary& vocabulary,
                      const std::string& tokenizer) {
  require(
      config.vocab_size >= vocabulary.pieces(),
      "{}: the tokenizer has {} pieces, the model's vocab_size is {}; use the tokenizer that the "
      "model was trained with",
      tokenizer, vocabulary.pieces(), config.vocab_size);
}

}  // namespace convseq
