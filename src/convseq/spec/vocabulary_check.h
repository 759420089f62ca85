#pragma once

#include <string>

#include "convseq/spec/model_config.h"
#include "convseq/text/sentinels.h"

namespace convseq {

// Refuses a tokenizer with pieces that the model has no embedding for. The model may have more
// rows: T5 vocabularies are padded in several ways, and only denoising needs the sentinels.
void check_vocabulary(const ModelConfig& config, const Vocabulary& vocabulary,
                      const std::string& tokenizer);

// Refuses an id that the model has no embedding for: on a GPU it would end the process.
template <class Ids>
void check_ids(const ModelConfig& config, const Ids& ids) {
  for (const int64_t id : ids) {
    require(id >= 0 && id < config.vocab_size,
            "token id {} is outside the model's vocabulary of {}; use the tokenizer that the model "
            "was trained with",
            id, config.vocab_size);
  }
}

}  // namespace convseq
