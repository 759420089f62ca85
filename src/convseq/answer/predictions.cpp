#include "convseq/answer/predictions.h"

namespace convseq {

void write_predictions(OutputFile& file, const TaskSplit& split, const TaskEvaluation& evaluation) {
  for (size_t i = 0; i < evaluation.outcomes.size(); ++i) {
    const Outcome& outcome = evaluation.outcomes[i];
    Json line = {{"source", split.examples[i].source.text},
                 {"prediction", outcome.prediction},
                 {"answers", outcome.references},
                 {"right", is_right(outcome)}};
    if (outcome.label_sets) {
      line["prediction"] = outcome.label_sets->predicted;
      line["answers"] = outcome.label_sets->truth;
    }
    if (!outcome.category.empty()) line["category"] = outcome.category;
    for (size_t label = 0; label < outcome.probabilities.size(); ++label) {
      line["probabilities"][evaluation.labels[label]] = outcome.probabilities[label];
    }
    file.write(line.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n");
  }
}

}  // namespace convseq
