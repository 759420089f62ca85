#pragma once

#include "convseq/spec/model_config.h"

namespace convseq {

// The largest batch that is answered at once.
struct AnswerShape {
  int64_t rows = 1;
  int64_t source = 1;
  int64_t target = 1;
};

std::string describe(const AnswerShape& shape);  // "answering 32 rows of 512 tokens at a time"

// Bytes that the engine for CPUs needs for it beside the weights. The rows of a batch go through
// the layers in blocks: between two layers there are the residual stream and the input and output
// of the mixer, besides the decode state.
double cpu_answer_bytes(const ModelConfig& config, const AnswerShape& shape);

}  // namespace convseq
