#include "convseq/answer/predictions.h"

namespace convseq {

void write_predictions(OutputFile& file, const TaskSplit& split,
                       const std::vector<Outcome>& outcomes) {
  for (size_t i = 0; i < outcomes.size(); ++i) {
    Json line = {{"source", split.examples[i].source.text},
                 {"prediction", outcomes[i].prediction},
                 {"answers", outcomes[i].references},
                 {"right", is_right(outcomes[i])}};
    if (!outcomes[i].category.empty()) line["category"] = outcomes[i].category;
    file.write(line.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n");
  }
}

}  // namespace convseq
