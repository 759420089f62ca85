#pragma once

#include <functional>

#include "convseq/answer/predict/predictor.h"
#include "convseq/answer/predict/text_reader.h"
#include "convseq/data/task/task_encoder.h"

namespace convseq {

// Part `index` of `count`: rows index, index + count, index + 2 count, …
struct RowShard {
  int64_t index = 1;
  int64_t count = 1;
  bool has(int64_t row) const { return (row - index) % count == 0; }
};

struct PredictionStreamOptions {
  RowShard shard = {};
  int64_t window = 4096;  // rows that are sorted by length together: a bound on the memory
  size_t threads = 0;     // that tokenize; 0: see prefetch_threads()
  // Called before an exception is passed on, so that a reader that waits for input can end.
  std::function<void()> on_failure = [] {};
};

struct PredictionTotals {
  int64_t rows = 0;
  int64_t failed = 0;  // rows with an error
  int64_t cut = 0;     // rows whose text was too long
  std::string first_error;

  void add(const Prediction& prediction);
  std::string describe() const;  // "1000 rows, 12 cut, 3 with errors, the first: a.txt:7: …"
};

// Predictions of the shard's rows of `reader`, in its order. While the model answers one window,
// other threads read and tokenize the next one. `sink` is called with each window of predictions;
// where a pipe pauses, the window ends with the rows that have come.
PredictionTotals predict_rows(TextReader& reader, const TaskEncoder& encoder, Predictor& predictor,
                              const PredictionStreamOptions& options,
                              const std::function<void(const std::vector<Prediction>&)>& sink);

}  // namespace convseq
