#include "convseq/answer/predict/predictor.h"

#include <cmath>

#include "convseq/base/all_finite.h"
#include "convseq/base/error.h"

namespace convseq {
namespace {

// With weights so large that sums overflow.
std::string not_finite(const Prediction& prediction) {
  return fmt::format("row {}: the model's scores are not finite", prediction.row);
}

}  // namespace

Predictor::Predictor(Engine& engine, PredictorOptions options)
    : engine_(engine), options_(std::move(options)) {
  if (options_.by == AnswerBy::Greedy) {
    options_.decision.reset();
    return;
  }
  options_.spans.reset();
  require(options_.decision.has_value(), "predict: there are no labels");
}

std::vector<Prediction> Predictor::predict(std::vector<PredictorInput> inputs) {
  std::vector<Prediction> predictions;
  std::vector<TokenIds> sources;
  std::vector<std::string> texts;
  std::vector<size_t> places;  // of the sources among the predictions
  for (PredictorInput& input : inputs) {
    predictions.push_back({.row = input.row, .tokens_cut = input.tokens_cut});
    predictions.back().error = std::move(input.error);
    if (!predictions.back().error.empty()) continue;
    places.push_back(predictions.size() - 1);
    sources.push_back(std::move(input.source));
    texts.push_back(std::move(input.text));
  }
  if (options_.decision) {
    const ClassScores scores = scores_of(sources);
    for (size_t i = 0; i < places.size(); ++i) {
      Prediction& prediction = predictions[places[i]];
      LabelAnswer answer = options_.decision->decide(scores[i]);
      // A sigmoid of an infinite score would be finite.
      if (all_finite(scores[i]) && all_finite(answer.probabilities)) {
        prediction.answer = std::move(answer);
      } else {
        prediction.error = not_finite(prediction);
      }
    }
    return predictions;
  }
  GreedyOptions greedy{.max_tokens = options_.max_tokens};
  if (options_.spans) {
    greedy.ends = [&](const TokenIds& source, int32_t id) {
      return options_.spans->ends(source, id);
    };
  }
  const auto generations = generate_answers(engine_, sources, greedy, options_.batches);
  for (size_t i = 0; i < places.size(); ++i) {
    Prediction& prediction = predictions[places[i]];
    if (!std::isfinite(generations[i].log_probability)) {
      prediction.error = not_finite(prediction);
      continue;
    }
    prediction.text = options_.decode(generations[i].tokens);
    if (fills_spans(sources[i])) {
      prediction.filled = options_.spans->filled(texts[i], generations[i].tokens);
    }
  }
  return predictions;
}

ClassScores Predictor::scores_of(const std::vector<TokenIds>& sources) {
  if (options_.by == AnswerBy::Head) return score_classes(engine_, sources, options_.batches);
  return score_labels(LabelScorer(engine_, options_.label_tokens), sources, options_.batches);
}

LabelKind label_kind_of(const ModelConfig& config, AnswerBy by) {
  return by == AnswerBy::Head ? config.label_kind : LabelKind::Single;
}

PredictorOptions predictor_options(Engine& engine, const Tokenizer& tokenizer, const Task& task,
                                   AnswerBy by, const Calibration& calibration) {
  const TaskAnswerer refuses_what_does_not_fit(engine, tokenizer, task, by);
  PredictorOptions options{.by = by, .max_tokens = task.max_target_tokens};
  if (by == AnswerBy::Greedy) {
    options.decode = [&tokenizer](std::span<const int32_t> ids) { return tokenizer.decode(ids); };
    return options;
  }
  options.decision.emplace(label_kind_of(engine.config(), by), task.labels, calibration);
  if (by == AnswerBy::Head) return options;
  for (const std::string& label : task.labels) {
    options.label_tokens.push_back(tokenizer.encode(label));
  }
  return options;
}

}  // namespace convseq
