#pragma once

#include <string>

#include "convseq/base/file/json_file.h"

namespace convseq::testing {

// A study of synthetic data and tiny models that takes seconds: two models, from scratch and
// pre-trained, one task, two learning rates and two seeds.
inline Json small_study() {
  const Json tiny = {{"d_model", 32}, {"d_ff", 64}, {"heads", 2}, {"d_kv", 16}};
  return {{"name", "small_study"},
          {"synth",
           {{"corpus", {{"documents", 60}, {"validation_documents", 10}}},
            {"tasks",
             {{"families", Json::array({"lexical"})},
              {"train", 64},
              {"validation", 24},
              {"test", 24}}}}},
          {"corpora",
           {{"main",
             {{"train", Json::array({"synth/corpus/synth.train.*"})},
              {"validation", Json::array({"synth/corpus/synth.validation.*"})}}}}},
          {"tokenizer", {{"pieces", 400}, {"model", "bpe"}}},
          {"models",
           {{"light", {{"model", "paper-light-tiny"}, {"set", tiny}}},
            {"transformer", {{"model", "paper-transformer-tiny"}, {"set", tiny}}}}},
          {"pretraining",
           {{"steps", 6}, {"batch", 4}, {"source", 32}, {"target", 16}, {"validate_every", 3}}},
          {"finetuning", {{"steps", 12}, {"batch", 8}, {"validate_every", 4}}},
          {"learning_rates", Json::array({1e-2, 3e-2})},
          {"tasks", {{"lexical", {{"task", "synth/lexical"}}}}},
          {"parts", Json::array({Json{{"name", "main"},
                                      {"question", "RQ1"},
                                      {"models", Json::array({"light", "transformer"})},
                                      {"tasks", Json::array({"lexical"})},
                                      {"seeds", 2}}})}};
}

// synth, tokenizer, two of shards, two of pre-training; of fine-tuning 2 · 2 · (2 rates + 1 seed).
inline constexpr int64_t kSmallStudyPretrainings = 2;
inline constexpr int64_t kSmallStudyFinetunings = 12;
inline constexpr int64_t kSmallStudyCells = 4 + kSmallStudyPretrainings + kSmallStudyFinetunings;

}  // namespace convseq::testing
