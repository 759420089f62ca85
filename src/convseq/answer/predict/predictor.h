#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "convseq/answer/label_decision.h"
#include "convseq/answer/predict/span_filling.h"
#include "convseq/answer/task_answers.h"

namespace convseq {

// A text as ids, or why there are none.
struct PredictorInput {
  int64_t row = 0;
  TokenIds source = {};   // closed by an EOS
  std::string text = {};  // that `source` was made from; of a predictor that fills spans
  int64_t tokens_cut = 0;
  std::string error = {};
};

// What a model answers to one text.
struct Prediction {
  int64_t row = 0;
  LabelAnswer answer = {};                 // of a predictor with labels
  std::string text = {};                   // of one without: what the decoder writes
  std::optional<std::string> filled = {};  // the text with its spans, where it has any
  int64_t tokens_cut = 0;                  // of the source, which was too long
  std::string error = {};                  // not empty: why there is no answer
};

struct PredictorOptions {
  AnswerBy by = AnswerBy::Labels;
  std::optional<LabelDecision> decision = {};                        // of Labels and Head
  std::vector<TokenIds> label_tokens = {};                           // of Labels, without an EOS
  std::function<std::string(std::span<const int32_t>)> decode = {};  // of Greedy
  int64_t max_tokens = 64;                                           // of Greedy
  std::optional<SpanFilling> spans = {};  // of Greedy: answers fill the spans of the text
  LengthBatchOptions batches = {};
};

// Labels with their probabilities, or text, over any Engine.
class Predictor {
 public:
  Predictor(Engine& engine, PredictorOptions options);

  // In the order of `inputs`, whatever their lengths. An input with an error keeps it.
  std::vector<Prediction> predict(std::vector<PredictorInput> inputs);

  // Nothing for a predictor of text.
  const std::optional<LabelDecision>& decision() const { return options_.decision; }
  bool fills_spans() const { return options_.spans.has_value(); }
  bool fills_spans(const TokenIds& source) const {  // of this text
    return options_.spans && options_.spans->has_spans(source);
  }

 private:
  ClassScores scores_of(const std::vector<TokenIds>& sources);

  Engine& engine_;
  PredictorOptions options_;
};

// Whether one label is right or any number of them: independent labels are those of a head.
LabelKind label_kind_of(const ModelConfig& config, AnswerBy by);

// The options for a task: its labels, or the text that its answers are. Refuses what TaskAnswerer
// refuses. `tokenizer` must outlive the predictor.
PredictorOptions predictor_options(Engine& engine, const Tokenizer& tokenizer, const Task& task,
                                   AnswerBy by, const Calibration& calibration = {});

}  // namespace convseq
